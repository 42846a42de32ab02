#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "harness/contract/run_invariants.h"
#include "harness/contract/sentences.h"

namespace halfsent {
namespace {

// Why the change is none that a job may make, or null.
const char* complaint(const JobFacts& job, const RowChange& change, bool held_before, bool has_claims) {
  const JobState to = change.now->to;
  switch (change.now->from) {
    case JobState::none:
      return to == JobState::delivered ? "it was there as delivered before anybody had claimed it" : nullptr;
    case JobState::pending:
      if (to == JobState::delivered) return has_claims ? "nobody had claimed it" : nullptr;
      return to == JobState::none ? "it was pending: nothing is left to show that it was ever due" : nullptr;
    case JobState::leased:
      return to == JobState::none && !was_its_sender(job, change.by, change.event->seq)
                 ? "it was leased, and whoever removed it did not know it as accepted"
                 : nullptr;
    case JobState::delivered:
      return to == JobState::none || to == JobState::delivered ? nullptr : "it was delivered, and that is final";
    case JobState::flagged:
      if (to == JobState::leased) return "it was flagged, and only an operator sets it free";
      return to == JobState::delivered && held_before ? "it was flagged, and a worker is no operator" : nullptr;
    case JobState::unlisted:
      return nullptr;
  }
  return nullptr;
}

}  // namespace

RunFindings judge_transitions(const RunFacts& run, const ContractTerms&) {
  RunFindings found;
  // A system that claims nothing marks what is pending.
  const bool has_claims =
      std::any_of(run.rows.begin(), run.rows.end(), [](const auto& row) { return count_claims(row.second) > 0; });
  for (const auto& [key, changes] : run.rows) {
    std::set<Life> once_held;
    for (const RowChange& change : changes) {
      if (change.now->rows > 1) break;
      if (change.holder_before) once_held.insert(*change.holder_before);
      if (change.by.actor.empty() || change.recovered || change.now->to == JobState::unlisted) continue;
      const char* why = complaint(run.facts->jobs.at(key), change, once_held.contains(change.by), has_claims);
      // What is removed for good is judged as a job: lost, hidden, phantom, or done.
      if (change.now->to == JobState::none && &change == &changes.back()) continue;
      if (why == nullptr) continue;
      found.broken.push_back({.key = key,
                              .why = fmt::format("{} (from {} to {}): {}", row_change(*change.event),
                                                 to_string(change.now->from), to_string(change.now->to), why),
                              .evidence = {change.event->seq}});
      break;
    }
  }
  return found;
}

}  // namespace halfsent
