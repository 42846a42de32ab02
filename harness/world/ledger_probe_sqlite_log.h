// What recovery finds in a write-ahead log: the frames up to the last commit that is whole.
//
// Algorithm: "WAL-format" of sqlite.org/fileformat2.html and sqlite.org/walformat.html. Pure.
#pragma once

#include <string_view>

#include "harness/world/ledger_probe_sqlite_files.h"

namespace halfsent::sqlite {

// `log`: the whole file. Without a valid header or a whole commit nothing of the log counts: frames is 0. `bytes` of
// the result is empty, and so is `salt` where the header is invalid.
WalIndex recover_log(std::string_view log);

}  // namespace halfsent::sqlite
