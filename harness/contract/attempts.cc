#include <fmt/format.h>

#include <optional>

#include "harness/contract/run_invariants.h"
#include "harness/contract/sentences.h"

namespace halfsent {
namespace {

bool starts_anew(const RowChange& change) {
  return change.before == nullptr || change.recovered || change.by.actor.empty();
}

std::optional<std::string> miscount(const RowChange& change) {
  if (starts_anew(change) || change.before->attempts < 0 || change.now->attempts < 0) return std::nullopt;
  const std::int64_t before = change.before->attempts;
  const std::int64_t now = change.now->attempts;
  if (change.is_claim && now != before + 1) {
    return fmt::format("claimed by {}, and attempts went from {} to {}: each claim counts as one",
                       doer_and_when(change), before, now);
  }
  if (!change.is_claim && now != before && change.now->from != JobState::flagged) {
    return fmt::format("{}, and attempts went from {} to {} without a claim", row_change(*change.event), before, now);
  }
  return std::nullopt;
}

}  // namespace

RunFindings judge_attempts(const RunFacts& run, const ContractTerms& terms) {
  RunFindings found;
  if (!run.has_attempts && !terms.max_attempts) found.not_judged = "rows show no attempts";
  for (const auto& [key, changes] : run.rows) {
    int claims = 0;
    for (const RowChange& change : changes) {
      if (change.now->rows > 1) break;
      // An operator who sets a flagged job free gives it its attempts anew; so does a ledger that was put back.
      if (change.by.actor.empty() || change.now->from == JobState::flagged) claims = 0;
      claims += change.is_claim ? 1 : 0;
      std::optional<std::string> why = miscount(change);
      if (!why && terms.max_attempts && claims > *terms.max_attempts) {
        why = fmt::format("claimed {}, last by {}; the scenario allows {}", times(static_cast<std::size_t>(claims)),
                          doer_and_when(change), *terms.max_attempts);
      }
      if (!why) continue;
      found.broken.push_back({.key = key, .why = *why, .evidence = {change.event->seq}});
      break;
    }
  }
  return found;
}

}  // namespace halfsent
