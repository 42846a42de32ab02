// The files of an SQLite database read as plain bytes: open, pread. No SQLite call, no lock, no write.
//
// A file that is there stays open for as long as its name leads to it: a look, of which there is one a stop, then costs
// a few stat and pread calls.
//
// Threads: one. The caller's process must hold no POSIX lock on these files (closing a descriptor would drop it).
// Errors: ExitCode::harness_fault when a file cannot be read, ExitCode::usage when it is no regular file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "harness/core/error.h"
#include "harness/process/unique_fd.h"

namespace halfsent::sqlite {

// Where the live view of a database comes from.
enum class View {
  absent,         // no file yet, or an empty one
  plain,          // the database file alone
  journal,        // a transaction is in flight (or died): the last committed state, which the hot journal restores
  log,            // database + write-ahead log, cut where a valid wal-index header says
  log_unindexed,  // database + write-ahead log that nobody has opened since: what recovery finds
};

struct FileFacts {
  bool exists = false;
  std::uint64_t inode = 0;
  std::uint64_t size_bytes = 0;
};

// The wal-index header: what every connected reader goes by.
struct WalIndex {
  std::uint32_t page_size_bytes = 0;  // 0: never written to since the last recovery
  std::uint32_t frames = 0;           // mxFrame
  std::uint32_t pages = 0;            // database size after the last commit; 0: not known here
  std::string salt;                   // 8 bytes
  std::string bytes;                  // as read, both copies
};

struct Look {
  View view = View::absent;
  FileFacts database;
  FileFacts log;
  FileFacts journal;
  std::optional<WalIndex> index;
  std::uint64_t content_hash = 0;  // of the database file; views plain, journal and log_unindexed
  std::string identity;            // two looks with the same identity show the same live view
};

// A name in a folder, and the file that it leads to: open for reading once it has been there.
class TrackedFile {
 public:
  // `folder`: outlives this; `name`: relative to it.
  TrackedFile(const UniqueFd& folder, std::filesystem::path name) : folder_(folder), name_(std::move(name)) {}

  // Looks again where the name leads to (`same_name`: it leads where it did). No file: facts().exists is false and
  // reads give nothing.
  Result<void> refresh(bool same_name = false);

  [[nodiscard]] const FileFacts& facts() const { return facts_; }  // of the last refresh()

  // Returns how much there was; less than `count` only at the end of the file.
  Result<std::size_t> read_into(char* to, std::size_t count, std::size_t offset) const;
  Result<std::string> read(std::size_t count, std::size_t offset = 0) const;
  // A process that holds a POSIX lock on any of these bytes, 0: none.
  [[nodiscard]] pid_t lock_holder(std::int64_t start, std::int64_t length) const;
  Result<std::string> read_all() const { return read(facts_.size_bytes); }

 private:
  const UniqueFd& folder_;
  std::filesystem::path name_;
  UniqueFd descriptor_;
  std::uint64_t open_device_ = 0;  // of descriptor_
  std::uint64_t open_inode_ = 0;
  FileFacts facts_;
};

class DatabaseFiles {
 public:
  // `folder` exists and stays; `name` is relative to it.
  DatabaseFiles(const std::filesystem::path& folder, const std::filesystem::path& name);
  DatabaseFiles(const DatabaseFiles&) = delete;
  DatabaseFiles& operator=(const DatabaseFiles&) = delete;

  // Views log: about 200 bytes are read. The others have nothing that tells every change (the change counter is written
  // before the rest of its transaction, and not at all in exclusive locking mode), so the database file is hashed.
  // `names`: files may have been created or removed since the last look.
  Result<Look> look(bool names = true);

  // True when nothing but the wal-index can differ from `last`, the latest look, and it does not.
  // REQUIRES: the files are those of the last look with `names`.
  Result<bool> same_index(const Look& last);

  // Views plain and log: the whole database as one file in rollback format.
  Result<std::vector<char>> read_image(const Look& look);

  // False when recovery can find nothing but the live view.
  Result<bool> recovery_may_differ(const Look& look);

  // View log: the index that recovery makes of the log.
  Result<WalIndex> recovered_index();

  // Copies the database, its log and its journal (never the wal-index) into `folder` under the same names, over what is
  // there. Returns the copy of the database.
  Result<std::filesystem::path> copy_to(const std::filesystem::path& folder);

  // Who holds a lock on any of these bytes of the database, or of its wal-index; 0: nobody.
  pid_t lock_holder(bool of_index, std::int64_t start, std::int64_t length);

  // True when connections to it use a write-ahead log.
  Result<bool> uses_log();

 private:
  Result<void> overlay_log(const WalIndex& index, std::vector<char>& image);

  std::filesystem::path name_;
  UniqueFd folder_;
  TrackedFile database_;
  TrackedFile log_;
  TrackedFile index_;
  TrackedFile journal_;
  bool looked_ = false;  // there was a look, so that all files are known
};

// Removes a copy of a database and everything beside it that belongs to it.
void remove_database(const std::filesystem::path& database);

std::filesystem::path with_suffix(const std::filesystem::path& database, const char* suffix);

}  // namespace halfsent::sqlite
