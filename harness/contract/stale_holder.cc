#include <fmt/format.h>

#include <set>

#include "harness/contract/run_invariants.h"
#include "harness/contract/sentences.h"

namespace halfsent {
namespace {

// What it did to another's job, or null when it did nothing that it may not.
const char* offence(const RunFacts& run, const RowChange& change) {
  const JobState from = change.now->from;
  const JobState to = change.now->to;
  if (to == JobState::delivered && from != JobState::delivered) return "marked it delivered";
  if (from == JobState::delivered && to != JobState::delivered && to != JobState::none) return "took the delivery back";
  if (from != JobState::leased || !change.holder_before || change.before == nullptr) return nullptr;
  const bool over = change.before->lease_until <= change.event->at + ledger_resolution;
  if (over || run.clock_is_off(change.by.actor)) return nullptr;
  if (!run.is_alive_after(*change.holder_before, change.event->seq)) return nullptr;
  if (to == JobState::leased) return "changed the lease";
  if (to == JobState::none) return "removed the row";
  return to == JobState::pending ? "gave it back" : "flagged it";
}

// Why it is no longer the holder's: the last change by another after its claim.
const RowChange* who_ended_it(const std::vector<RowChange>& changes, std::size_t until, const Life& life) {
  for (std::size_t i = until; i-- > 0;) {
    if (changes[i].holder_before == life && changes[i].holder != life && changes[i].by != life) return &changes[i];
  }
  return nullptr;
}

}  // namespace

RunFindings judge_stale_holder(const RunFacts& run, const ContractTerms&) {
  RunFindings found;
  for (const auto& [key, changes] : run.rows) {
    std::set<Life> once_held;
    for (std::size_t i = 0; i < changes.size(); ++i) {
      const RowChange& change = changes[i];
      if (change.now->rows > 1) break;
      if (change.holder_before) once_held.insert(*change.holder_before);
      if (change.recovered || change.is_claim || change.holder_before == change.by || !once_held.contains(change.by))
        continue;
      const char* what = offence(run, change);
      const RowChange* ended = who_ended_it(changes, i, change.by);
      if (what == nullptr || ended == nullptr) continue;
      found.broken.push_back(
          {.key = key,
           .why = fmt::format("{} {} at {}, although it held the job no more: {}", name_of(change.by), what,
                              in_seconds(change.event->at), row_change(*ended->event)),
           .evidence = {ended->event->seq, change.event->seq}});
      break;
    }
  }
  return found;
}

}  // namespace halfsent
