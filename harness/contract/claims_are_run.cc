#include <fmt/format.h>

#include <algorithm>

#include "harness/contract/run_invariants.h"
#include "harness/contract/sentences.h"

namespace halfsent {
namespace {

// The first event at or after a time: what is true before it is true at that time.
const Event* first_from(const History& history, Nanoseconds at) {
  const auto found =
      std::find_if(history.events.begin(), history.events.end(), [at](const Event& event) { return event.at >= at; });
  return found == history.events.end() ? nullptr : &*found;
}

bool asked_for_it(const JobFacts& job, const RowChange& claim) {
  return std::any_of(job.requests.begin(), job.requests.end(), [&](const Event* request) {
    return request->seq > claim.event->seq && life_of(*request) == claim.by;
  });
}

// "was alive all the while", "left at 3.000 s with code 0"; empty: its death, or its end, explains it.
std::string what_it_did(const RunFacts& run, const Life& life, const Event& expiry) {
  if (run.is_alive_after(life, expiry.seq)) return "was alive all the while";
  const Event& end = *run.ended.at(life);
  const auto& how = std::get<Ended>(end.body);
  if (how.how != Ended::How::exited || how.code != 0) return {};
  return fmt::format("left at {} with code 0", in_seconds(end.at));
}

}  // namespace

RunFindings judge_claims_are_run(const RunFacts& run, const ContractTerms&) {
  RunFindings found;
  if (!run.has_lease) found.not_judged = "rows show no lease_until";
  for (const auto& [key, changes] : run.rows) {
    for (std::size_t i = 0; i < changes.size(); ++i) {
      const RowChange& claim = changes[i];
      if (claim.now->rows > 1) break;
      const Nanoseconds expiry = claim.now->lease_until;
      if (!claim.is_claim || claim.recovered || expiry < claim.event->at) continue;
      const Event* at_expiry = first_from(*run.history, expiry);
      const bool changed_before =
          i + 1 < changes.size() && at_expiry != nullptr && changes[i + 1].event->seq < at_expiry->seq;
      if (at_expiry == nullptr || changed_before || run.is_disturbed(claim.event->at, expiry)) continue;
      if (asked_for_it(run.facts->jobs.at(key), claim)) continue;
      const std::string did = what_it_did(run, claim.by, *at_expiry);
      if (did.empty()) continue;
      found.broken.push_back(
          {.key = key,
           .why = fmt::format("claimed by {} and run by nobody: {} {}, and sent nothing for it until the lease ran out "
                              "at {}",
                              doer_and_when(claim), name_of(claim.by), did, in_seconds(expiry)),
           .evidence = {claim.event->seq, at_expiry->seq}});
      break;
    }
  }
  return found;
}

}  // namespace halfsent
