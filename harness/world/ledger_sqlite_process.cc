#include "harness/world/ledger_sqlite_process.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace halfsent::testing {
namespace {

constexpr std::size_t kMessageBytes = 128 << 10;

[[noreturn]] void fail(const char* what) { throw std::system_error(errno, std::system_category(), what); }

// In the child: SQLite's own system calls, counted.
int effects_left = 0;

template <class Value>
Value counted(Value result) {
  if (effects_left > 0 && --effects_left == 0) ::raise(SIGKILL);
  return result;
}

ssize_t counted_write(int fd, const void* data, std::size_t count) { return counted(::write(fd, data, count)); }

ssize_t counted_pwrite(int fd, const void* data, std::size_t count, off_t offset) {
  return counted(::pwrite(fd, data, count, offset));
}

int counted_ftruncate(int fd, off_t size) { return counted(::ftruncate(fd, size)); }

int counted_unlink(const char* path) { return counted(::unlink(path)); }

void count_effects() {
  sqlite3_vfs* vfs = sqlite3_vfs_find(nullptr);
  const auto replace = [&](const char* name, auto* function) {
    vfs->xSetSystemCall(vfs, name, reinterpret_cast<sqlite3_syscall_ptr>(function));
  };
  replace("write", counted_write);
  replace("pwrite", counted_pwrite);
  replace("pwrite64", counted_pwrite);
  replace("ftruncate", counted_ftruncate);
  replace("unlink", counted_unlink);
}

std::string run_all(SQLite::Database& database, const std::string& sql) {
  std::string text;
  const auto add_row = [](void* to, int count, char** values, char** /*names*/) {
    auto& out = *static_cast<std::string*>(to);
    for (int i = 0; i < count; ++i) out += std::string(i > 0 ? "|" : "") + (values[i] != nullptr ? values[i] : "NULL");
    out += '\n';
    return 0;
  };
  char* message = nullptr;
  if (sqlite3_exec(database.getHandle(), sql.c_str(), add_row, &text, &message) != SQLITE_OK) {
    text = std::string("error: ") + (message != nullptr ? message : "?");
  }
  sqlite3_free(message);
  return text;
}

[[noreturn]] void serve(int socket, std::string path) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  count_effects();
  std::optional<SQLite::Database> database;
  std::string request(kMessageBytes, '\0');
  for (;;) {
    const ssize_t got = ::recv(socket, request.data(), request.size(), 0);
    if (got <= 0) ::_exit(0);
    const std::string argument = request.substr(1, static_cast<std::size_t>(got) - 1);
    std::string reply = "=";  // a message is never empty
    try {
      switch (request[0]) {
        case 'r':
          if (!database) database.emplace(path, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
          reply += run_all(*database, argument);
          break;
        case 'c':
          database.reset();
          break;
        case 'o':
          database.reset();
          path = argument;
          break;
        case 'd':
          effects_left = std::stoi(argument);
          break;
        default:
          reply += "error: unknown request";
      }
    } catch (const std::exception& exception) {
      reply += std::string("error: ") + exception.what();
    }
    if (::send(socket, reply.data(), reply.size(), 0) < 0) ::_exit(1);
  }
}

}  // namespace

SqliteProcess::SqliteProcess(std::filesystem::path database) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) fail("socketpair");
  socket_ = UniqueFd(ends[0]);
  const UniqueFd child_end(ends[1]);
  pid_ = ::fork();
  if (pid_ < 0) fail("fork");
  if (pid_ == 0) {
    socket_.reset();
    serve(child_end.get(), std::move(database).string());
  }
}

SqliteProcess::~SqliteProcess() { kill(); }

std::optional<std::string> SqliteProcess::ask(char what, const std::string& argument) {
  std::string request(1, what);
  request += argument;
  if (::send(socket_.get(), request.data(), request.size(), MSG_NOSIGNAL) < 0) return std::nullopt;
  std::string reply(kMessageBytes, '\0');
  const ssize_t got = ::recv(socket_.get(), reply.data(), reply.size(), 0);
  if (got <= 0) {
    kill();
    return std::nullopt;
  }
  return reply.substr(1, static_cast<std::size_t>(got) - 1);
}

std::optional<std::string> SqliteProcess::run(const std::string& sql) { return ask('r', sql); }

void SqliteProcess::close() { ask('c'); }

void SqliteProcess::open_next(const std::filesystem::path& database) { ask('o', database.string()); }

void SqliteProcess::die_after_effect(int n) { ask('d', std::to_string(n)); }

void SqliteProcess::kill() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

TestFolder::TestFolder() {
  // In memory where there is such a folder: SQLite's fsync calls cost 10 ms each on a disk.
  const std::filesystem::path memory = "/dev/shm";
  const bool in_memory = ::access(memory.c_str(), W_OK) == 0;
  std::string name =
      ((in_memory ? memory : std::filesystem::temp_directory_path()) / "halfsent-ledger-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) fail("mkdtemp");
  root_ = name;
  for (const char* folder : {"world", "scratch", "copy"}) std::filesystem::create_directory(root_ / folder);
}

TestFolder::~TestFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(root_, ignored);
}

std::filesystem::path TestFolder::copy_as_after_a_crash() const {
  std::filesystem::remove_all(root_ / "copy");
  std::filesystem::create_directory(root_ / "copy");
  for (const char* name : {"ledger.db", "ledger.db-wal", "ledger.db-journal"}) {
    if (std::filesystem::exists(world() / name)) std::filesystem::copy_file(world() / name, root_ / "copy" / name);
  }
  return root_ / "copy" / "ledger.db";
}

std::map<std::string, std::string> files_in(const std::filesystem::path& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    std::ifstream file(entry.path(), std::ios::binary);
    files[entry.path().filename().string()] = {std::istreambuf_iterator<char>(file), {}};
  }
  return files;
}

}  // namespace halfsent::testing
