// The ledger probe for SQLite files (see ledger_probe.h for what it promises).
//
// The live view is what the files say: after every process died, -wal and -shm may stay behind, and the live view stays
// what the wal-index header says until somebody opens, and thereby recovers, the database. A log without a valid
// wal-index header (nobody has opened it since, or connections in exclusive locking mode, which keep their index in
// memory) is recovered in a copy: there both views are one.
//
// Limits: journal_mode OFF and MEMORY leave no sign of a transaction in flight, so its writes are seen as they happen.
// A transaction over several attached databases in rollback mode is seen as committed when this database's journal
// goes, which is a moment after its super-journal went.
//
// Cost in rollback mode: changed() reads the whole database file.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/world/ledger_probe.h"
#include "harness/world/ledger_probe_sqlite_files.h"
#include "harness/world/ledger_probe_sqlite_rows.h"

namespace halfsent {

class SqliteLedgerProbe : public LedgerProbe {
 public:
  SqliteLedgerProbe(LedgerConfig config, const std::filesystem::path& world, std::filesystem::path scratch);

  Result<bool> changed(Since since) override;
  Result<std::vector<LedgerRow>> live() override;
  Result<std::optional<std::vector<LedgerRow>>> cold() override;
  Result<std::vector<char>> image() override;
  [[nodiscard]] bool is_write_lock(const std::string& relative_path, std::int64_t start,
                                   std::int64_t length) const override;
  [[nodiscard]] std::vector<std::string> files() const override;
  [[nodiscard]] bool owns_file(const std::string& relative_path) const override;
  [[nodiscard]] bool guards_changes(const std::string& relative_path, std::int64_t start,
                                    std::int64_t length) const override;
  [[nodiscard]] pid_t lock_holder(const std::string& relative_path, std::int64_t start, std::int64_t length) override;
  [[nodiscard]] bool is_transaction_lock(const std::string& relative_path, std::int64_t start,
                                         std::int64_t length) override;

 private:
  struct Seen {
    sqlite::Look look;
    std::vector<LedgerRow> rows;
  };

  Result<std::vector<LedgerRow>> rows_at(const sqlite::Look& look);
  Result<std::vector<LedgerRow>> rows_after_recovery();
  Result<std::vector<LedgerRow>> recovered_rows();
  Result<std::vector<char>> recovered_image();
  [[nodiscard]] bool last_rows_stand(const sqlite::Look& look) const;

  LedgerConfig config_;
  std::string name_;  // relative to the world's folder
  sqlite::DatabaseFiles files_;
  std::filesystem::path scratch_;
  sqlite::ImageReader reader_;
  std::optional<Seen> seen_;            // by the last live()
  std::optional<sqlite::Look> latest_;  // what the files were at the last look
  bool fresh_ = false;                  // by changed() or live(), just now
  bool from_changed_ = false;           // by changed(), just now
  std::optional<std::vector<LedgerRow>> cold_;
  bool cold_known_ = false;  // cold_ is that of latest_
  bool stands_ = false;      // latest_ is still true: changed() has found so, just now
};

std::unique_ptr<LedgerProbe> make_sqlite_ledger_probe(const LedgerConfig& config, const std::filesystem::path& world,
                                                      const std::filesystem::path& scratch);

// As create_ledger(). The file is complete by itself: no log or journal is left beside it.
Result<void> create_sqlite_ledger(const LedgerConfig& config, const std::filesystem::path& file);

}  // namespace halfsent
