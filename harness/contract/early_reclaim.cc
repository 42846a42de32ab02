#include <fmt/format.h>

#include "harness/contract/run_invariants.h"
#include "harness/contract/sentences.h"

namespace halfsent {
namespace {

bool takes_away(const RowChange& change) {
  if (change.now->from != JobState::leased || change.before == nullptr) return false;
  return change.is_claim || change.now->to == JobState::pending || change.now->to == JobState::flagged;
}

bool is_early(const RunFacts& run, const RowChange& change) {
  if (!takes_away(change) || change.recovered || change.by.actor.empty() || run.clock_is_off(change.by.actor))
    return false;
  if (change.holder_before && *change.holder_before == change.by) return false;
  if (change.before->lease_until <= change.event->at + ledger_resolution) return false;
  return !change.holder_before || run.is_alive_after(*change.holder_before, change.event->seq);
}

}  // namespace

RunFindings judge_early_reclaim(const RunFacts& run, const ContractTerms&) {
  RunFindings found;
  if (!run.has_lease) found.not_judged = "rows show no lease_until";
  for (const auto& [key, changes] : run.rows) {
    for (const RowChange& change : changes) {
      if (change.now->rows > 1) break;
      if (!is_early(run, change)) continue;
      const std::string until = in_seconds(change.before->lease_until);
      const std::string holder = change.holder_before ? fmt::format("although {} held it until {} and was alive",
                                                                    name_of(*change.holder_before), until)
                                                      : fmt::format("although it was leased until {}", until);
      found.broken.push_back(
          {.key = key, .why = row_change(*change.event) + ", " + holder, .evidence = {change.event->seq}});
      break;
    }
  }
  return found;
}

}  // namespace halfsent
