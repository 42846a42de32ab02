#include <fmt/format.h>

#include "harness/contract/run_invariants.h"
#include "harness/contract/sentences.h"
#include "harness/core/plan.h"

namespace halfsent {
namespace {

const RowChange* last_change(const RunFacts& run) {
  const RowChange* last = nullptr;
  for (const auto& [key, changes] : run.rows) {
    if (last == nullptr || changes.back().event->seq > last->event->seq) last = &changes.back();
  }
  return last;
}

}  // namespace

RunFindings judge_drains(const RunFacts& run, const ContractTerms& terms) {
  RunFindings found;
  const RowChange* last = last_change(run);
  // Faults that last until the end leave no time to drain.
  const Nanoseconds limit = run.deadline(Nanoseconds{0}, terms.lease + terms.recovery + terms.quiet);
  if (last == nullptr) found.not_judged = "rows show no row";
  if (run.complete && run.end < limit && std::get<Finished>(run.finished->body).reason == "horizon")
    found.not_judged = "faults went on until the end";
  if (!run.complete) found.not_judged = run.why_incomplete;
  if (!found.not_judged.empty()) return found;
  const std::string& reason = std::get<Finished>(run.finished->body).reason;
  if (reason != "horizon" || run.end - last->event->at >= terms.quiet) return found;
  found.broken.push_back(
      {.why = fmt::format("the execution ended at {} and the ledger still changed; the last change was {}, {}",
                          in_seconds(run.end), quote_key(last->now->key), row_change(*last->event)),
       .evidence = {last->event->seq, run.finished->seq}});
  return found;
}

}  // namespace halfsent
