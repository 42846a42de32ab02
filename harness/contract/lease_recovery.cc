#include <fmt/format.h>

#include "harness/contract/run_invariants.h"
#include "harness/contract/sentences.h"
#include "harness/core/plan.h"

namespace halfsent {
namespace {

// The first change after `from` that is no longer the same lease, or the end.
std::size_t end_of_lease(const std::vector<RowChange>& changes, std::size_t from) {
  std::size_t i = from + 1;
  while (i < changes.size() && changes[i].now->to == JobState::leased && !changes[i].is_claim &&
         changes[i].now->lease_until == changes[from].now->lease_until)
    ++i;
  return i;
}

}  // namespace

RunFindings judge_lease_recovery(const RunFacts& run, const ContractTerms& terms) {
  RunFindings found;
  if (!run.has_lease) found.not_judged = "rows show no lease_until";
  if (!run.complete) found.not_judged = run.why_incomplete;
  if (!found.not_judged.empty()) return found;
  for (const auto& [key, changes] : run.rows) {
    for (std::size_t i = 0; i < changes.size(); ++i) {
      const RowChange& leased = changes[i];
      if (leased.now->rows > 1) break;
      if (leased.now->to != JobState::leased) continue;
      const bool has_expiry = leased.now->lease_until.count() >= 0;
      const Nanoseconds expiry = has_expiry ? leased.now->lease_until : leased.event->at + terms.lease;
      const std::size_t next = end_of_lease(changes, i);
      const Event& until = next < changes.size() ? *changes[next].event : *run.finished;
      if (until.at <= run.deadline(std::max(expiry, leased.event->at), terms.recovery)) continue;
      found.broken.push_back(
          {.key = key,
           .why =
               fmt::format("{}, {}, and nobody took it up before {}; an abandoned lease may block a job for {} at most",
                           row_change(*leased.event),
                           has_expiry ? "leased until " + in_seconds(expiry) : "leased without an expiry",
                           next < changes.size() ? doer_and_when(changes[next]) : "the end at " + in_seconds(until.at),
                           format_duration(terms.recovery)),
           .evidence = {leased.event->seq, until.seq}});
      break;
    }
  }
  return found;
}

}  // namespace halfsent
