#include <fmt/format.h>

#include "harness/contract/invariants.h"
#include "harness/contract/sentences.h"

namespace halfsent {

// A row that somebody of the system removed was purged or hidden. One that went by nobody's doing was never committed
// where it counts: the ledger that took over does not have it.
bool is_ghost(const JobFacts& job, const ContractTerms&, KeyVerdict& verdict) {
  const auto effects = job.new_effects();
  if (!job.complete || effects.empty()) return false;
  const Event* last = job.last_change();
  const bool rolled_back =
      last != nullptr && last->actor.empty() && std::get<LedgerChanged>(last->body).to == JobState::none;
  if (last != nullptr && !rolled_back) return false;
  std::vector<std::string> accepts;
  for (const auto* effect : effects) {
    accepts.push_back("from " + who_and_when(*effect->accepted));
    verdict.evidence.push_back(effect->accepted->seq);
  }
  verdict.kind = VerdictKind::ghost;
  verdict.why = fmt::format("accepted {}, {}; ", times(effects.size()), listed(accepts));
  if (rolled_back) {
    verdict.why += fmt::format("the ledger lost its row at {} and never had one again", in_seconds(last->at));
    if (last->seq > verdict.evidence.back()) verdict.evidence.push_back(last->seq);
  } else {
    verdict.why += "the ledger never had a row for it: what was sent had not been scheduled for good";
  }
  verdict.evidence.push_back(job.finished->seq);
  return true;
}

}  // namespace halfsent
