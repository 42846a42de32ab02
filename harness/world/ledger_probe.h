// Looks at a ledger without disturbing it: no connection, no lock, no file beside it.
//
// The live view is what a connected worker would read now: the database and the write-ahead log cut at the
// wal-index header's mxFrame (or, in rollback mode, the last committed state). The cold view is what the next
// opener would find if every process died now: the whole log or the hot journal, recovered. See DESIGN: the two
// differ for a moment inside a commit.
//
// Threads: one. Paths are the harness's view of the world's files.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/core/error.h"
#include "harness/scenario/scenario.h"

namespace halfsent {

struct LedgerRow {
  std::string key;  // any bytes
  std::string raw_state;
  JobState state = JobState::unlisted;
  std::int64_t attempts = -1;         // negative: not in the query
  std::optional<double> lease_until;  // seconds since the epoch, as the ledger has it
  // As LedgerChanged has them (harness/core/event.h); empty: not in the query, or NULL.
  std::string token = {};
  std::string owner = {};
  std::string slot = {};
  std::string cohort = {};
  std::string authority = {};
  std::optional<double> due_at = {};  // seconds since the epoch
  // How many rows have this key. More than one is for the contract to judge; this is the one that is furthest from
  // done.
  int rows = 1;
  friend bool operator==(const LedgerRow&, const LedgerRow&) = default;
};

class LedgerProbe {
 public:
  virtual ~LedgerProbe() = default;

  // What may have happened to the ledger's files since the last call: stores to memory that they share, and nothing
  // else; also writes; also files that came or went.
  enum class Since { memory, written, created_or_removed };

  // Cheap: a few dozen bytes are read (SQLite in rollback mode: the database file). True when the live view may differ
  // from the last live(); true at first, but false as long as there is no ledger yet and none was seen.
  virtual Result<bool> changed(Since since = Since::created_or_removed) = 0;

  // Rows of the live view ordered by key. Called directly after changed() it takes the ledger to be as that has seen
  // it. Errors: a rows query that fails or returns no key, a file that is no
  // database (ExitCode::usage with the mend).
  virtual Result<std::vector<LedgerRow>> live() = 0;

  // Rows of the cold view, or nullopt when it cannot differ from the live view (cheap to find out). Called directly
  // after changed() or live() it takes the ledger to be as they have seen it, and does not look again.
  virtual Result<std::optional<std::vector<LedgerRow>>> cold() = 0;

  // Everything that is committed in the live view, as one file with which a copy of the ledger begins anew. Empty:
  // there is no ledger.
  virtual Result<std::vector<char>> image() = 0;

  // True when who wants to change the ledger must hold a POSIX lock on one of these bytes exclusively.
  [[nodiscard]] virtual bool is_write_lock(const std::string& relative_path, std::int64_t start,
                                           std::int64_t length) const = 0;

  // Files of the ledger, relative to the world's folder: the one that image() can replace first, then those that must
  // go when it does.
  [[nodiscard]] virtual std::vector<std::string> files() const = 0;

  // True if the file with this name (of the world's folder) belongs to the ledger: "ledger.db", "-wal", "-shm",
  // "-journal".
  [[nodiscard]] virtual bool owns_file(const std::string& relative_path) const = 0;

  // True when nobody changes either view who does not hold a POSIX lock on one of these bytes exclusively, or makes
  // another call on the ledger's files than for locks.
  [[nodiscard]] virtual bool guards_changes(const std::string& relative_path, std::int64_t start,
                                            std::int64_t length) const = 0;

  // Who holds a POSIX lock on any of these bytes: a pid as the harness sees it, of one of the holders if there are
  // several; 0: nobody. Cheap.
  [[nodiscard]] virtual pid_t lock_holder(const std::string& relative_path, std::int64_t start,
                                          std::int64_t length) = 0;

  // True when a POSIX lock on bytes [start, start + length) of `relative_path` is part of a transaction (and not held
  // for as long as the connection is open). length 0 means to the end of the file.
  [[nodiscard]] virtual bool is_transaction_lock(const std::string& relative_path, std::int64_t start,
                                                 std::int64_t length) = 0;
};

// `world`: the world's folder as the harness sees it. `scratch`: a private folder of ours for copies, on the same kind
// of file system, that exists and is ours to fill. Null when no ledger is of config.kind.
std::unique_ptr<LedgerProbe> make_ledger_probe(const LedgerConfig& config, const std::filesystem::path& world,
                                               const std::filesystem::path& scratch);

// Creates the ledger from config.setup in `file` (a new file, whose folder is made); without a setup no file is
// created. Errors carry SQLite's message.
Result<void> create_ledger(const LedgerConfig& config, const std::filesystem::path& file);

}  // namespace halfsent
