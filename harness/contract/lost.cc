#include <fmt/format.h>

#include "harness/contract/invariants.h"
#include "harness/contract/sentences.h"

namespace halfsent {

// A row that is pending or leased may still be tried: that is `stuck`. A removed row that had been reported delivered
// is `phantom`, which comes earlier in the table; one that was given up is `hidden`, which does so too.
bool is_lost(const JobFacts& job, const ContractTerms&, KeyVerdict& verdict) {
  if (!job.complete || !job.new_effects().empty()) return false;
  if (job.state != JobState::none) return false;
  const Event* last = job.last_change();
  verdict.kind = VerdictKind::lost;
  verdict.why = fmt::format("never accepted and nothing will try again: {}",
                            last == nullptr ? "the ledger never had a row for it" : row_change(*last));
  if (last != nullptr) verdict.evidence.push_back(last->seq);
  verdict.evidence.push_back(job.finished->seq);
  return true;
}

}  // namespace halfsent
