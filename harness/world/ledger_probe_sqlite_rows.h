// The rows query: from an SQLite database of ours (never the live one) to ledger rows.
//
// Columns are found by name, in any case and order: key, state, and if present attempts and lease_until. A number as
// key or state is taken as SQLite prints it, a blob by its bytes, a NULL state as "NULL"; a NULL attempts or
// lease_until as not given. A database without any table yet gives no rows. Rows are ordered by the bytes of their
// keys.
//
// Threads: one. Errors: ExitCode::usage with the mend.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "harness/core/error.h"
#include "harness/scenario/scenario.h"
#include "harness/world/ledger_probe.h"

namespace halfsent::sqlite {

// `image`: a whole database in rollback format; borrowed for the call and not changed. Empty: no rows.
Result<std::vector<LedgerRow>> rows_of_image(const LedgerConfig& config, std::string& image);

// `file`: a copy that is ours: opening it recovers it.
Result<std::vector<LedgerRow>> rows_of_copy(const LedgerConfig& config, const std::filesystem::path& file);

}  // namespace halfsent::sqlite
