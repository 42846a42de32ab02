#include <fmt/format.h>

#include "harness/contract/run_invariants.h"

namespace halfsent {

RunFindings judge_unique_key(const RunFacts& run, const ContractTerms&) {
  RunFindings found;
  for (const auto& [key, changes] : run.rows) {
    for (const RowChange& change : changes) {
      if (change.now->rows < 2) continue;
      found.broken.push_back(
          {.key = key,
           .why = fmt::format("the ledger has {} rows with this key since {}", change.now->rows, doer_and_when(change)),
           .evidence = {change.event->seq}});
      break;
    }
  }
  return found;
}

}  // namespace halfsent
