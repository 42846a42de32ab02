// A counterexample made smaller, by real executions.
#pragma once

#include <filesystem>
#include <string>

#include "harness/cli/tally.h"
#include "harness/scenario/scenario.h"

namespace halfsent {

struct SmallerPlan {
  CellResult result;     // the smallest plan found, with its verdict; the given one where none is smaller
  std::string how = {};  // "shrunk  from 3 faults to 1 in 12 executions: ...", a line; empty: there was nothing to try
};

// Tries smaller plans for so long ("10s" of real time, "0s": not at all). A smaller one must fail with the same
// verdict, also with programs that are executed, not forked. Its history is stored in `out` as shrunk.history.jsonl.
// Errors: what keeps executions from running; ExitCode::usage: the duration.
Result<SmallerPlan> shrink_run(const Scenario& scenario, const CellResult& counterexample, const std::string& budget,
                               const std::filesystem::path& out);

}  // namespace halfsent
