#include "harness/world/proc_fs.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string_view>

namespace halfsent {
namespace {

std::string slurp(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return {};
  std::string text;
  char chunk[4096];
  ssize_t got = 0;
  while ((got = ::read(fd, chunk, sizeof chunk)) > 0) text.append(chunk, static_cast<std::size_t>(got));
  ::close(fd);
  return text;
}

std::string proc(pid_t pid) { return "/proc/" + std::to_string(pid); }

std::string read_link(int folder, const std::string& path) {
  char target[4096];
  const ssize_t got = ::readlinkat(folder, path.c_str(), target, sizeof target);
  return got > 0 ? std::string(target, static_cast<std::size_t>(got)) : std::string();
}

// The text after "Name:\t" up to the end of the line.
std::string_view field(std::string_view text, std::string_view name) {
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, end - at);
    if (line.size() > name.size() && line.starts_with(name) && line[name.size()] == ':')
      return line.substr(name.size() + 1);
    at = end + 1;
  }
  return {};
}

std::uint64_t number(std::string_view text, int base) {
  return std::strtoull(std::string(text).c_str(), nullptr, base);
}

// The last of a list of numbers, one for each nested PID namespace.
pid_t innermost(std::string_view list) {
  const std::size_t last = list.find_last_of('\t');
  return static_cast<pid_t>(number(last == list.npos ? list : list.substr(last), 10));
}

// Of the text of an fdinfo file: lines like "lock:\t1: POSIX  ADVISORY  WRITE 123 08:01:456 0 EOF".
std::vector<FileLock> locks_in(const std::string& text) {
  constexpr std::string_view mark = "lock:\t";
  std::vector<FileLock> locks;
  for (std::size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at + 1)) {
    char kind[16];
    char last[32];
    FileLock lock;
    if (std::sscanf(text.c_str() + at, "lock: %*d: %15s %*s %*s %*d %*x:%*x:%" SCNu64 " %" SCNd64 " %31s", kind,
                    &lock.inode, &lock.start, last) != 4)
      continue;
    lock.posix = std::strcmp(kind, "POSIX") == 0;
    lock.length = std::strcmp(last, "EOF") == 0 ? 0 : std::strtoll(last, nullptr, 10) - lock.start + 1;
    locks.push_back(lock);
  }
  return locks;
}

}  // namespace

std::optional<ProcStatus> read_status(pid_t tid) {
  const std::string text = slurp(proc(tid) + "/status");
  if (text.empty()) return std::nullopt;
  ProcStatus status;
  status.process = static_cast<pid_t>(number(field(text, "Tgid"), 10));
  status.parent = static_cast<pid_t>(number(field(text, "PPid"), 10));
  status.world_process = innermost(field(text, "NStgid"));
  status.world_thread = innermost(field(text, "NSpid"));
  status.pending_thread = number(field(text, "SigPnd"), 16);
  status.pending_process = number(field(text, "ShdPnd"), 16);
  status.blocked = number(field(text, "SigBlk"), 16);
  status.ignored = number(field(text, "SigIgn"), 16);
  status.caught = number(field(text, "SigCgt"), 16);
  return status;
}

std::optional<ProcStat> read_stat(pid_t process, pid_t tid) {
  const std::string text = slurp(proc(process) + "/task/" + std::to_string(tid) + "/stat");
  const std::size_t end_of_name = text.rfind(')');
  if (end_of_name == std::string::npos) return std::nullopt;
  ProcStat stat;
  std::uint64_t user = 0;
  std::uint64_t system = 0;
  const int got =
      std::sscanf(text.c_str() + end_of_name + 1, " %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %" SCNu64 " %" SCNu64,
                  &stat.state, &user, &system);
  if (got != 3) return std::nullopt;
  stat.cpu_ticks = user + system;
  return stat;
}

bool is_on_its_way(pid_t process, pid_t tid) {
  return slurp(proc(process) + "/task/" + std::to_string(tid) + "/syscall") == "running\n";
}

std::optional<int> read_wait_status(pid_t process) {
  const std::string text = slurp(proc(process) + "/stat");
  const std::size_t end_of_name = text.rfind(')');
  if (end_of_name == std::string::npos || text.substr(end_of_name).starts_with(") Z") == false) return std::nullopt;
  const std::size_t last = text.find_last_of(' ');
  return static_cast<int>(number(std::string_view(text).substr(last), 10));
}

std::vector<pid_t> list_threads(pid_t process) {
  std::vector<pid_t> threads;
  DIR* folder = ::opendir((proc(process) + "/task").c_str());
  if (folder == nullptr) return threads;
  while (const dirent* entry = ::readdir(folder))
    if (entry->d_name[0] != '.') threads.push_back(static_cast<pid_t>(std::atoi(entry->d_name)));
  ::closedir(folder);
  std::sort(threads.begin(), threads.end());
  return threads;
}

std::vector<pid_t> list_children(pid_t process) {
  std::vector<pid_t> children;
  for (const pid_t tid : list_threads(process)) {
    const std::string text = slurp(proc(process) + "/task/" + std::to_string(tid) + "/children");
    const char* at = text.c_str();
    char* end = nullptr;
    for (long pid = std::strtol(at, &end, 10); end != at; pid = std::strtol(at, &end, 10)) {
      children.push_back(static_cast<pid_t>(pid));
      at = end;
    }
  }
  std::sort(children.begin(), children.end());
  return children;
}

std::string descriptor_target(pid_t process, int fd) {
  return read_link(AT_FDCWD, proc(process) + "/fd/" + std::to_string(fd));
}

UniqueFd open_descriptor_folder(pid_t process) {
  return UniqueFd(::open((proc(process) + "/fd").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
}

std::string descriptor_target(const UniqueFd& descriptor_folder, int fd) {
  return read_link(descriptor_folder.get(), std::to_string(fd));
}

std::string working_directory(pid_t process) { return read_link(AT_FDCWD, proc(process) + "/cwd"); }

std::string program_of(pid_t process) { return read_link(AT_FDCWD, proc(process) + "/exe"); }

std::vector<Descriptor> list_descriptors(pid_t process) {
  std::vector<Descriptor> descriptors;
  DIR* folder = ::opendir((proc(process) + "/fd").c_str());
  if (folder == nullptr) return descriptors;
  while (const dirent* entry = ::readdir(folder))
    if (entry->d_name[0] != '.') descriptors.push_back({.number = std::atoi(entry->d_name), .target = {}, .locks = {}});
  ::closedir(folder);
  std::sort(descriptors.begin(), descriptors.end(),
            [](const Descriptor& a, const Descriptor& b) { return a.number < b.number; });
  for (Descriptor& descriptor : descriptors) {
    descriptor.target = descriptor_target(process, descriptor.number);
    const std::string text = slurp(proc(process) + "/fdinfo/" + std::to_string(descriptor.number));
    const std::uint64_t access = number(field(text, "flags"), 8) & O_ACCMODE;
    descriptor.writes = access != O_RDONLY;
    descriptor.reads = access != O_WRONLY;
    descriptor.locks = locks_in(text);
  }
  return descriptors;
}

std::vector<FileLock> list_locks(pid_t process, int fd) {
  return locks_in(slurp(proc(process) + "/fdinfo/" + std::to_string(fd)));
}

}  // namespace halfsent
