// The rows query: from an SQLite database of ours (never the live one) to ledger rows.
//
// Columns are found by name, in any case and order: key, state, and if present attempts, lease_until, token, owner,
// slot, cohort, authority and due_at. A number as text is taken as SQLite prints it, a blob by its bytes, a NULL state
// as "NULL"; any other NULL as not given. A database without any table yet gives no rows. Rows are ordered by the bytes
// of their keys; of several with one key the one that is furthest from done stands for all.
//
// Threads: one. Errors: ExitCode::usage with the mend.
#pragma once

#include <SQLiteCpp/Database.h>

#include <filesystem>
#include <optional>
#include <vector>

#include "harness/core/error.h"
#include "harness/scenario/scenario.h"
#include "harness/world/ledger_probe.h"

namespace halfsent::sqlite {

// Reads databases held in memory, one after another, through one connection (opening one costs as much as a query).
class ImageReader {
 public:
  // `image`: a whole database in rollback format. Empty: no rows. `config`: always the same.
  Result<std::vector<LedgerRow>> rows(const LedgerConfig& config, std::vector<char> image);

 private:
  Result<std::vector<LedgerRow>> read(const LedgerConfig& config);

  std::vector<char> image_;                     // the connection points into it
  std::optional<std::vector<LedgerRow>> rows_;  // of image_
  std::optional<SQLite::Database> connection_;
};

// `file`: a copy that is ours: opening it recovers it.
Result<std::vector<LedgerRow>> rows_of_copy(const LedgerConfig& config, const std::filesystem::path& file);

// The whole of such a copy as one file.
Result<std::vector<char>> image_of_copy(const LedgerConfig& config, const std::filesystem::path& file);

}  // namespace halfsent::sqlite
