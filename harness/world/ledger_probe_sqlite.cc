#include "harness/world/ledger_probe_sqlite.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <limits>
#include <system_error>
#include <utility>

#include "harness/core/text.h"

namespace halfsent {
namespace {

using sqlite::Look;
using sqlite::View;

// The world stands still while it is looked at, but for the other threads of an actor.
constexpr int kLooks = 16;

// Lock bytes of SQLite's unix VFS.
constexpr std::int64_t kIndexLocks = 120;  // WRITE, CKPT, RECOVER, READ0..4; the next one is held while connected
constexpr std::int64_t kIndexReadLocks = 123;
constexpr std::int64_t kIndexLocksEnd = 128;
constexpr std::int64_t kDatabaseLocks = 0x40000000;  // PENDING, RESERVED, SHARED
constexpr std::int64_t kReservedLock = kDatabaseLocks + 1;
constexpr std::int64_t kDatabaseLocksEnd = kDatabaseLocks + 512;

// Bytes of a database's header: 1 is rollback, 2 a write-ahead log.
constexpr std::size_t kWriteVersion = 18;
constexpr std::size_t kReadVersion = 19;

bool overlaps(std::int64_t start, std::int64_t length, std::int64_t first, std::int64_t end) {
  if (length < 0) return overlaps(start + length, -length, first, end);  // fcntl: the bytes before start
  const bool to_the_end = length == 0 || start > std::numeric_limits<std::int64_t>::max() - length;
  return start < end && (to_the_end || start + length > first);
}

std::string normal(const std::string& relative_path) {
  if (relative_path.find('/') == std::string::npos) return relative_path;
  return std::filesystem::path(relative_path).lexically_normal().string();
}

Error setup_error(const LedgerConfig& config, std::string_view message) {
  return {.code = ExitCode::usage,
          .message = fmt::format("cannot set up the ledger {}: {}", printable(config.path), printable(message)),
          .mend = "correct setup of [ledger]"};
}

}  // namespace

SqliteLedgerProbe::SqliteLedgerProbe(LedgerConfig config, const std::filesystem::path& world,
                                     std::filesystem::path scratch)
    : config_(std::move(config)), name_(normal(config_.path)), files_(world, name_), scratch_(std::move(scratch)) {}

Result<bool> SqliteLedgerProbe::changed(Since since) {
  if (since == Since::memory && latest_ && seen_) {
    const auto same = files_.same_index(*latest_);
    if (!same) return same.error();
    if (*same && latest_->identity == seen_->look.identity) {
      stands_ = true;
      return false;
    }
  }
  stands_ = cold_known_ = false;
  auto look = files_.look(since == Since::created_or_removed);
  if (!look) return look.error();
  latest_ = std::move(*look);
  fresh_ = from_changed_ = true;
  if (!seen_) return latest_->view != View::absent;
  if (latest_->view == View::journal && last_rows_stand(*latest_)) return false;
  return latest_->identity != seen_->look.identity;
}

bool SqliteLedgerProbe::last_rows_stand(const Look& look) const {
  if (!seen_) return false;
  // The transaction that was in flight still is, or nothing was written to the file since it was read whole.
  return look.identity == seen_->look.identity ||
         (seen_->look.view == View::plain && seen_->look.content_hash == look.content_hash);
}

Result<std::vector<LedgerRow>> SqliteLedgerProbe::recovered_rows() {
  const auto copy = files_.copy_to(scratch_);
  if (!copy) return copy.error();
  auto rows = sqlite::rows_of_copy(config_, *copy);
  sqlite::remove_database(*copy);
  return rows;
}

Result<std::vector<LedgerRow>> SqliteLedgerProbe::rows_at(const Look& look) {
  switch (look.view) {
    case View::absent:
      return std::vector<LedgerRow>{};
    case View::journal:
      if (last_rows_stand(look)) return seen_->rows;
      return recovered_rows();
    case View::log_unindexed:
      return recovered_rows();
    case View::plain:
    case View::log:
      break;
  }
  auto image = files_.read_image(look);
  if (!image) return image.error();
  return reader_.rows(config_, std::move(*image));
}

Result<std::vector<LedgerRow>> SqliteLedgerProbe::live() {
  for (int i = 0; i < kLooks; ++i) {
    if (!std::exchange(from_changed_, false)) {
      auto look = files_.look();
      if (!look) return look.error();
      latest_ = std::move(*look);
    }
    stands_ = cold_known_ = false;
    auto rows = rows_at(*latest_);
    const auto after = files_.look(false);
    if (!after) return after.error();
    if (after->identity != latest_->identity) continue;
    if (!rows) return rows.error();
    fresh_ = true;
    seen_ = Seen{.look = *latest_, .rows = *rows};
    return rows;
  }
  return Error{.message = fmt::format("the ledger {} changes faster than it can be read", printable(config_.path))};
}

Result<std::optional<std::vector<LedgerRow>>> SqliteLedgerProbe::cold() {
  from_changed_ = false;
  if (std::exchange(stands_, false) && cold_known_) return cold_;
  if (!std::exchange(fresh_, false)) {
    auto look = files_.look();
    if (!look) return look.error();
    latest_ = std::move(*look);
  }
  const auto differs = files_.recovery_may_differ(*latest_);
  if (!differs) return differs.error();
  cold_.reset();
  if (*differs) {
    auto rows = latest_->view == View::log ? rows_after_recovery() : recovered_rows();
    if (!rows) return rows.error();
    cold_ = std::move(*rows);
  }
  cold_known_ = true;
  return cold_;
}

// What recovered_rows() would find, without a copy: of a log that has an index nothing else is recovered.
Result<std::vector<LedgerRow>> SqliteLedgerProbe::rows_after_recovery() {
  Look look = *latest_;
  auto index = files_.recovered_index();
  if (!index) return index.error();
  look.index = std::move(*index);
  auto image = files_.read_image(look);
  if (!image) return image.error();
  return reader_.rows(config_, std::move(*image));
}

Result<std::vector<char>> SqliteLedgerProbe::image() {
  const auto look = files_.look();
  if (!look) return look.error();
  if (look->view == View::absent) return std::vector<char>{};
  const auto uses_log = files_.uses_log();
  if (!uses_log) return uses_log.error();
  auto image = look->view == View::plain || look->view == View::log ? files_.read_image(*look) : recovered_image();
  // The image is in rollback format: whoever opens it must find the journal mode that the ledger has.
  if (image && *uses_log && image->size() > kReadVersion) (*image)[kWriteVersion] = (*image)[kReadVersion] = 2;
  return image;
}

Result<std::vector<char>> SqliteLedgerProbe::recovered_image() {
  const auto copy = files_.copy_to(scratch_);
  if (!copy) return copy.error();
  auto image = sqlite::image_of_copy(config_, *copy);
  sqlite::remove_database(*copy);
  return image;
}

std::vector<std::string> SqliteLedgerProbe::files() const {
  return {name_, name_ + "-wal", name_ + "-shm", name_ + "-journal"};
}

bool SqliteLedgerProbe::owns_file(const std::string& relative_path) const {
  const std::string path = normal(relative_path);
  if (!path.starts_with(name_)) return false;
  const std::string_view rest = std::string_view(path).substr(name_.size());
  return rest.empty() || rest == "-wal" || rest == "-shm" || rest == "-journal";
}

bool SqliteLedgerProbe::is_write_lock(const std::string& relative_path, std::int64_t start, std::int64_t length) const {
  const std::string path = normal(relative_path);
  if (path == name_ + "-shm") return overlaps(start, length, kIndexLocks, kIndexLocks + 1);
  return path == name_ && overlaps(start, length, kReservedLock, kReservedLock + 1);
}

// The wal-index is written to in memory: by a writer, a checkpoint or a recovery. All other changes are calls.
bool SqliteLedgerProbe::guards_changes(const std::string& relative_path, std::int64_t start,
                                       std::int64_t length) const {
  return normal(relative_path) == name_ + "-shm" && overlaps(start, length, kIndexLocks, kIndexReadLocks);
}

pid_t SqliteLedgerProbe::lock_holder(const std::string& relative_path, std::int64_t start, std::int64_t length) {
  return files_.lock_holder(normal(relative_path) == name_ + "-shm", start, length);
}

bool SqliteLedgerProbe::is_transaction_lock(const std::string& relative_path, std::int64_t start, std::int64_t length) {
  const std::string path = normal(relative_path);
  if (path == name_ + "-shm") return overlaps(start, length, kIndexLocks, kIndexLocksEnd);
  if (path != name_ || !overlaps(start, length, kDatabaseLocks, kDatabaseLocksEnd)) return false;
  // With a log the shared lock on the database is held for as long as the connection is open.
  const auto uses_log = files_.uses_log();
  return !uses_log || !*uses_log;
}

std::unique_ptr<LedgerProbe> make_sqlite_ledger_probe(const LedgerConfig& config, const std::filesystem::path& world,
                                                      const std::filesystem::path& scratch) {
  return std::make_unique<SqliteLedgerProbe>(config, world, scratch);
}

Result<void> create_sqlite_ledger(const LedgerConfig& config, const std::filesystem::path& file) {
  if (config.setup.empty()) return {};
  std::error_code failed;
  if (std::filesystem::exists(file, failed)) {
    return Error{.code = ExitCode::usage,
                 .message = fmt::format("the ledger {} is there already", printable(config.path)),
                 .mend = "either leave it out of files of [world] or leave out setup of [ledger]"};
  }
  std::filesystem::create_directories(file.parent_path(), failed);
  if (failed) return Error{.message = fmt::format("cannot create the ledger's folder: {}", failed.message())};

  try {
    SQLite::Database database(std::filesystem::absolute(file).string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
    database.exec("PRAGMA synchronous=OFF");  // of this connection only: nothing here has to survive a power cut
    database.exec(config.setup);
    if (sqlite3_get_autocommit(database.getHandle()) == 0) throw SQLite::Exception("a transaction is left open");
  } catch (const SQLite::Exception& exception) {
    sqlite::remove_database(file);
    return setup_error(config, exception.what());
  }
  // Closing has written the log back. In PERSIST mode the journal stays, its header zeroed: it says nothing.
  std::filesystem::remove(sqlite::with_suffix(file, "-journal"), failed);
  if (std::filesystem::exists(sqlite::with_suffix(file, "-wal"), failed)) {
    sqlite::remove_database(file);
    return setup_error(config, "its write-ahead log could not be written back");
  }
  return {};
}

}  // namespace halfsent
