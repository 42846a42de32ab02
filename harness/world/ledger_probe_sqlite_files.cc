#include "harness/world/ledger_probe_sqlite_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <system_error>
#include <utility>

#include "harness/world/ledger_probe_sqlite_log.h"

namespace halfsent::sqlite {
namespace {

// Offsets and sizes of the file formats (sqlite.org/fileformat2.html and walformat.html).
constexpr std::size_t kDatabaseHeaderBytes = 100;
constexpr std::size_t kWriteVersionAt = 18;
constexpr std::size_t kReadVersionAt = 19;
constexpr std::size_t kChangeCounterAt = 24;
constexpr char kLogVersion = 2;
constexpr char kRollbackVersion = 1;
constexpr std::size_t kJournalHeaderBytes = 28;
constexpr std::string_view kJournalMagic = "\xd9\xd5\x05\xf9\x20\xa1\x63\xd7";
constexpr std::size_t kLogHeaderBytes = 32;
constexpr std::size_t kFrameHeaderBytes = 24;
constexpr std::size_t kIndexCopyBytes = 48;
constexpr std::size_t kIndexCheckedBytes = 40;
constexpr std::uint32_t kIndexVersion = 3007000;
constexpr std::size_t kSaltBytes = 8;

std::uint32_t big_endian(const char* bytes) {
  std::uint32_t value = 0;
  for (int i = 0; i < 4; ++i) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

template <class T>
T native(const std::string& bytes, std::size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

Error file_error(const std::filesystem::path& file, std::string_view what, int error) {
  return {.message = fmt::format("cannot {} the ledger's file {}: {}", what, file.filename().string(),
                                 std::system_category().message(error))};
}

// SQLite's checksum over 32-bit words in native order.
std::pair<std::uint32_t, std::uint32_t> index_checksum(const std::string& bytes) {
  std::uint32_t first = 0;
  std::uint32_t second = 0;
  for (std::size_t at = 0; at < kIndexCheckedBytes; at += 8) {
    first += native<std::uint32_t>(bytes, at) + second;
    second += native<std::uint32_t>(bytes, at + 4) + first;
  }
  return {first, second};
}

// As SQLite's readers judge it: two equal copies, initialised, of the known version, with a right checksum. Anything
// else makes a reader recover the log.
std::optional<WalIndex> parse_index(const std::string& bytes) {
  if (bytes.size() < 2 * kIndexCopyBytes) return std::nullopt;
  if (bytes.compare(0, kIndexCopyBytes, bytes, kIndexCopyBytes, kIndexCopyBytes) != 0) return std::nullopt;
  if (native<std::uint32_t>(bytes, 0) != kIndexVersion || bytes[12] == 0) return std::nullopt;
  const auto [first, second] = index_checksum(bytes);
  if (native<std::uint32_t>(bytes, 40) != first || native<std::uint32_t>(bytes, 44) != second) return std::nullopt;

  WalIndex index;
  const std::uint32_t encoded_size = native<std::uint16_t>(bytes, 14);
  index.page_size_bytes = (encoded_size & 0xfe00u) + ((encoded_size & 1u) << 16);
  index.frames = native<std::uint32_t>(bytes, 16);
  index.pages = native<std::uint32_t>(bytes, 20);
  index.salt = bytes.substr(32, kSaltBytes);
  index.bytes = bytes.substr(0, 2 * kIndexCopyBytes);
  if (index.frames > 0 && (!std::has_single_bit(index.page_size_bytes) || index.page_size_bytes < 512)) {
    return std::nullopt;
  }
  return index;
}

std::size_t frame_offset(std::uint32_t number, std::uint32_t page_size) {
  return kLogHeaderBytes + (number - std::size_t{1}) * (kFrameHeaderBytes + page_size);
}

std::size_t log_end(const WalIndex& index) {
  return index.frames == 0 ? 0 : frame_offset(index.frames + 1, index.page_size_bytes);
}

bool says_log(const std::string& header) {
  return header.size() > kReadVersionAt &&
         (header[kReadVersionAt] == kLogVersion || header[kWriteVersionAt] == kLogVersion);
}

template <class T>
void append_bytes(std::string& to, T value) {
  to.append(reinterpret_cast<const char*>(&value), sizeof value);
}

std::string identity_of_log(const Look& look, const std::string& header) {
  std::string identity = "log";
  append_bytes(identity, look.database.inode);
  append_bytes(identity, look.log.inode);
  // What was appended behind the last committed frame is not in the view.
  append_bytes(identity, std::min<std::uint64_t>(look.log.size_bytes, log_end(*look.index)));
  identity += header.substr(kWriteVersionAt, 2);
  identity += header.substr(kChangeCounterAt, 4);
  return identity + look.index->bytes;
}

Result<void> write_file(const std::filesystem::path& path, const std::string& bytes) {
  const UniqueFd descriptor(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (!descriptor) return file_error(path, "copy", errno);
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t put = ::write(descriptor.get(), bytes.data() + done, bytes.size() - done);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return file_error(path, "copy", errno);
    done += static_cast<std::size_t>(put);
  }
  return {};
}

Result<std::uint64_t> hash_of(const TrackedFile& file, std::uint64_t seed) {
  auto bytes = file.read_all();
  if (!bytes) return bytes.error();
  return XXH3_64bits_withSeed(bytes->data(), bytes->size(), seed);
}

}  // namespace

Result<void> TrackedFile::refresh(bool same_name) {
  struct stat status = {};
  if (same_name) {
    if (!descriptor_) return {};
    if (::fstat(descriptor_.get(), &status) != 0) return file_error(name_, "look at", errno);
    facts_.size_bytes = static_cast<std::uint64_t>(status.st_size);
    return {};
  }
  if (::fstatat(folder_.get(), name_.c_str(), &status, 0) != 0) {
    facts_ = {};
    descriptor_.reset();
    if (errno == ENOENT || errno == ENOTDIR) return {};
    return file_error(name_, "look at", errno);
  }
  if (!S_ISREG(status.st_mode)) {
    return Error{.code = ExitCode::usage,
                 .message = fmt::format("the ledger's {} is no regular file", name_.filename().string()),
                 .mend = "let path of [ledger] name the database file itself"};
  }
  if (!descriptor_ || status.st_dev != open_device_ || status.st_ino != open_inode_) {
    // O_NONBLOCK: a FIFO in the ledger's place must not hang the harness.
    descriptor_ = UniqueFd(::openat(folder_.get(), name_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    if (!descriptor_) return file_error(name_, "open", errno);
    open_device_ = status.st_dev;
    open_inode_ = status.st_ino;
  }
  facts_ = {.exists = true,
            .inode = static_cast<std::uint64_t>(status.st_ino),
            .size_bytes = static_cast<std::uint64_t>(status.st_size)};
  return {};
}

Result<std::size_t> TrackedFile::read_into(char* to, std::size_t count, std::size_t offset) const {
  std::size_t done = 0;
  while (descriptor_ && done < count) {
    const ssize_t got = ::pread(descriptor_.get(), to + done, count - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return file_error(name_, "read", errno);
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  return done;
}

pid_t TrackedFile::lock_holder(std::int64_t start, std::int64_t length) const {
  struct flock lock {};  // asks only: takes nothing
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = start;
  lock.l_len = length;
  if (!descriptor_ || ::fcntl(descriptor_.get(), F_GETLK, &lock) != 0) return 0;
  return lock.l_type == F_UNLCK ? 0 : lock.l_pid;
}

Result<std::string> TrackedFile::read(std::size_t count, std::size_t offset) const {
  std::string bytes(count, '\0');
  auto got = read_into(bytes.data(), count, offset);
  if (!got) return got.error();
  bytes.resize(*got);
  return bytes;
}

std::filesystem::path with_suffix(const std::filesystem::path& database, const char* suffix) {
  std::filesystem::path path = database;
  path += suffix;
  return path;
}

void remove_database(const std::filesystem::path& database) {
  for (const char* suffix : {"", "-wal", "-shm", "-journal"}) {
    std::error_code ignored;  // what cannot be removed is met again, and reported, by the next copy
    std::filesystem::remove(with_suffix(database, suffix), ignored);
  }
}

DatabaseFiles::DatabaseFiles(const std::filesystem::path& folder, const std::filesystem::path& name)
    : name_(name),
      folder_(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)),
      database_(folder_, name),
      log_(folder_, with_suffix(name, "-wal")),
      index_(folder_, with_suffix(name, "-shm")),
      journal_(folder_, with_suffix(name, "-journal")) {}

Result<Look> DatabaseFiles::look(bool names) {
  looked_ = true;
  Look look;
  if (auto found = database_.refresh(!names); !found) return found.error();
  look.database = database_.facts();
  if (look.database.size_bytes == 0) return look;
  auto header = database_.read(kDatabaseHeaderBytes);
  if (!header) return header.error();
  header->resize(kDatabaseHeaderBytes, '\0');

  if (auto found = journal_.refresh(!names); !found) return found.error();
  look.journal = journal_.facts();
  auto journal_header = journal_.read(kJournalHeaderBytes);
  if (!journal_header) return journal_header.error();
  if (auto found = log_.refresh(!names); !found) return found.error();
  look.log = log_.facts();

  const bool hot = journal_header->size() == kJournalHeaderBytes && journal_header->starts_with(kJournalMagic);
  if (!hot && look.log.exists) {
    if (auto found = index_.refresh(!names); !found) return found.error();
    auto index_bytes = index_.read(2 * kIndexCopyBytes);
    if (!index_bytes) return index_bytes.error();
    look.index = parse_index(*index_bytes);
    if (look.index) {
      look.view = View::log;
      look.identity = identity_of_log(look, *header);
      return look;
    }
  }

  auto hash = hash_of(database_, 0);
  if (!hash) return hash.error();
  look.content_hash = *hash;
  if (hot) {
    look.view = View::journal;
    // The nonce and the size at the start name the transaction; the count before them changes when it is synced.
    look.identity = "journal" + journal_header->substr(12, 8);
    append_bytes(look.identity, look.journal.inode);
    return look;
  }
  look.view = look.log.size_bytes > 0 ? View::log_unindexed : View::plain;
  look.identity = look.view == View::plain ? "plain" : "recover";
  append_bytes(look.identity, look.content_hash);
  append_bytes(look.identity, look.database.size_bytes);
  if (look.view == View::log_unindexed) {
    auto log_hash = hash_of(log_, 1);
    if (!log_hash) return log_hash.error();
    append_bytes(look.identity, *log_hash);
  }
  return look;
}

Result<bool> DatabaseFiles::same_index(const Look& last) {
  if (last.view != View::log) return false;
  const auto bytes = index_.read(2 * kIndexCopyBytes);
  if (!bytes) return bytes.error();
  return *bytes == last.index->bytes;
}

Result<std::vector<char>> DatabaseFiles::read_image(const Look& look) {
  if (auto found = database_.refresh(); !found) return found.error();
  std::vector<char> image(database_.facts().size_bytes);
  auto got = database_.read_into(image.data(), image.size(), 0);
  if (!got) return got.error();
  image.resize(*got);
  if (look.view == View::log) {
    if (auto overlaid = overlay_log(*look.index, image); !overlaid) return overlaid.error();
  }
  // An in-memory database has no log; its content is the same in either format.
  if (image.size() >= kDatabaseHeaderBytes) {
    for (const std::size_t at : {kWriteVersionAt, kReadVersionAt}) {
      if (image[at] == kLogVersion) image[at] = kRollbackVersion;
    }
  }
  return image;
}

Result<void> DatabaseFiles::overlay_log(const WalIndex& index, std::vector<char>& image) {
  const std::size_t page_size = index.page_size_bytes;
  if (page_size != 0 && index.pages != 0) image.resize(index.pages * page_size);
  if (index.frames == 0) return {};
  if (auto found = log_.refresh(); !found) return found.error();
  auto bytes = log_.read(log_end(index));
  if (!bytes) return bytes.error();
  for (std::uint32_t number = 1; number <= index.frames; ++number) {
    const std::size_t at = frame_offset(number, index.page_size_bytes);
    if (at + kFrameHeaderBytes + page_size > bytes->size()) break;
    // Other salts: the log was started again and this frame belongs to an earlier round.
    if (bytes->compare(at + 8, kSaltBytes, index.salt) != 0) break;
    const std::uint32_t page = big_endian(bytes->data() + at);
    if (page == 0 || page > index.pages) continue;  // cut off by a later commit that made the database smaller
    std::memcpy(image.data() + (page - std::size_t{1}) * page_size, bytes->data() + at + kFrameHeaderBytes, page_size);
  }
  return {};
}

Result<bool> DatabaseFiles::recovery_may_differ(const Look& look) {
  if (look.view == View::journal) return true;
  if (look.view != View::log) return false;
  const WalIndex& index = *look.index;
  auto header = log_.read(kLogHeaderBytes);
  if (!header) return header.error();
  if (header->size() < kLogHeaderBytes) return index.frames > 0;
  const std::string salt = header->substr(16, kSaltBytes);
  if (index.frames > 0 && salt != index.salt) return true;
  // The log was started again in the index and not yet in the file: the old frames are all in the database already.
  if (index.frames == 0 && big_endian(index.salt.data()) == big_endian(salt.data()) + 1) return false;

  const std::uint32_t page_size = big_endian(header->data() + 8);
  // Nothing differs unless a commit is found behind the last frame that readers know. In the first transaction after a
  // recovery the index has no salt yet, so the file's own is used, as recovery does.
  for (std::uint32_t number = std::max(index.frames, 1u);; ++number) {
    const std::size_t at = frame_offset(number, page_size);
    const bool known = number <= index.frames;
    if (at + kFrameHeaderBytes + page_size > log_.facts().size_bytes) return known;
    auto frame = log_.read(kFrameHeaderBytes, at);
    if (!frame) return frame.error();
    if (frame->size() < kFrameHeaderBytes || frame->compare(8, kSaltBytes, salt) != 0) return known;
    if (!known && big_endian(frame->data() + 4) != 0) return true;
  }
}

Result<WalIndex> DatabaseFiles::recovered_index() {
  const auto log = log_.read_all();
  if (!log) return log.error();
  return recover_log(*log);
}

Result<std::filesystem::path> DatabaseFiles::copy_to(const std::filesystem::path& folder) {
  const std::filesystem::path copy = folder / name_.filename();
  remove_database(copy);
  for (auto [file, suffix] : {std::pair{&database_, ""}, {&log_, "-wal"}, {&journal_, "-journal"}}) {
    if (auto found = file->refresh(); !found) return found.error();
    if (!file->facts().exists) continue;
    auto bytes = file->read_all();
    if (!bytes) return bytes.error();
    if (auto written = write_file(with_suffix(copy, suffix), *bytes); !written) return written.error();
  }
  return copy;
}

pid_t DatabaseFiles::lock_holder(bool of_index, std::int64_t start, std::int64_t length) {
  TrackedFile& file = of_index ? index_ : database_;
  // Whoever looks is told of each file that comes or goes, and has looked since.
  return looked_ || file.refresh() ? file.lock_holder(start, length) : 0;
}

Result<bool> DatabaseFiles::uses_log() {
  if (auto found = log_.refresh(); !found) return found.error();
  if (log_.facts().exists) return true;
  if (auto found = database_.refresh(); !found) return found.error();
  auto header = database_.read(kDatabaseHeaderBytes);
  if (!header) return header.error();
  return says_log(*header);
}

}  // namespace halfsent::sqlite
