// The files of an SQLite database read as plain bytes: open, pread, close. No SQLite call, no lock, no write.
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

class DatabaseFiles {
 public:
  explicit DatabaseFiles(std::filesystem::path database);

  // Views log: about 200 bytes are read. The others have nothing that tells every change (the change counter is written
  // before the rest of its transaction, and not at all in exclusive locking mode), so the database file is hashed.
  Result<Look> look() const;

  // Views plain and log: the whole database as one file in rollback format.
  Result<std::vector<char>> read_image(const Look& look) const;

  // False when recovery can find nothing but the live view.
  Result<bool> recovery_may_differ(const Look& look) const;

  // Copies the database, its log and its journal (never the wal-index) into `folder` under the same names, over what is
  // there. Returns the copy of the database.
  Result<std::filesystem::path> copy_to(const std::filesystem::path& folder) const;

  // True when connections to it use a write-ahead log.
  Result<bool> uses_log() const;

 private:
  Result<void> overlay_log(const WalIndex& index, std::vector<char>& image) const;

  std::filesystem::path database_;
  std::filesystem::path log_;
  std::filesystem::path index_;
  std::filesystem::path journal_;
};

// Removes a copy of a database and everything beside it that belongs to it.
void remove_database(const std::filesystem::path& database);

std::filesystem::path with_suffix(const std::filesystem::path& database, const char* suffix);

}  // namespace halfsent::sqlite
