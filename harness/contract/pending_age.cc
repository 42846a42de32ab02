#include <fmt/format.h>

#include <algorithm>

#include "harness/contract/run_invariants.h"
#include "harness/contract/sentences.h"
#include "harness/core/plan.h"

namespace halfsent {

RunFindings judge_pending_age(const RunFacts& run, const ContractTerms& terms) {
  RunFindings found;
  if (!run.has_due) found.not_judged = "rows show no due_at";
  if (!run.complete) found.not_judged = run.why_incomplete;
  if (!found.not_judged.empty()) return found;
  for (const auto& [key, changes] : run.rows) {
    for (std::size_t i = 0; i < changes.size(); ++i) {
      const LedgerChanged& row = *changes[i].now;
      if (row.rows > 1) break;
      if (row.to != JobState::pending || row.due_at.count() < 0) continue;
      const Nanoseconds due = std::max(row.due_at, changes[i].event->at);
      const Event& until = i + 1 < changes.size() ? *changes[i + 1].event : *run.finished;
      if (until.at <= run.deadline(due, terms.recovery)) continue;
      found.broken.push_back(
          {.key = key,
           .why =
               fmt::format("pending and due since {}, and still so {}, which is {} later; the oldest pending job may "
                           "be overdue for {} at most once nothing disturbs",
                           in_seconds(due), i + 1 < changes.size() ? "when " + row_change(until) : "at the end",
                           in_seconds(until.at - due), format_duration(terms.recovery)),
           .evidence = {changes[i].event->seq, until.seq}});
      break;
    }
  }
  return found;
}

}  // namespace halfsent
