#include <fmt/format.h>

#include <algorithm>

#include "harness/contract/invariants.h"
#include "harness/contract/row_changes.h"
#include "harness/contract/sentences.h"
#include "harness/core/plan.h"

namespace halfsent {
namespace {

// Somebody else had claimed it before, or the remover had tried to send it: that is giving up, and not a claim by
// removal.
bool was_attempted(const JobFacts& job, const Event& removal) {
  for (const RowChange& change : row_changes(job)) {
    if (change.is_claim && change.event->seq < removal.seq && change.by != life_of(removal)) return true;
  }
  return std::any_of(job.requests.begin(), job.requests.end(),
                     [&](const Event* request) { return request->seq < removal.seq; });
}

bool is_done(JobState state) { return state == JobState::delivered || state == JobState::flagged; }

// Purging what was delivered or flagged hides nothing; a row that the world took is for `ghost` and `lost` to judge.
bool was_deleted(const JobFacts& job, KeyVerdict& verdict) {
  const Event* last = job.last_change();
  if (job.state != JobState::none || last == nullptr || last->actor.empty()) return false;
  if (is_done(std::get<LedgerChanged>(last->body).from)) return false;
  // Where whoever removed it had it accepted, removing was its way of marking (or, before it sent, of claiming).
  if (was_its_sender(job, life_of(*last), last->seq) || !was_attempted(job, *last)) return false;
  const auto effects = job.new_effects();
  verdict.why = fmt::format(
      "{}, neither delivered nor flagged: no operator can see it; {}", row_change(*last),
      effects.empty() ? "it was never accepted"
                      : fmt::format("it was accepted {} and whoever removed it did not know", times(effects.size())));
  verdict.evidence = {last->seq};
  return true;
}

bool is_unlisted(const JobFacts& job, KeyVerdict& verdict) {
  if (job.state != JobState::unlisted) return false;
  const auto effects = job.new_effects();
  verdict.why = fmt::format("{}, and so it was when the execution ended; it was {}", row_change(*job.last_change()),
                            effects.empty() ? "never accepted" : "accepted " + times(effects.size()));
  verdict.evidence = {job.last_change()->seq};
  return true;
}

bool loops(const JobFacts& job, const ContractTerms& terms, KeyVerdict& verdict) {
  if (!terms.max_attempts || (job.state != JobState::pending && job.state != JobState::leased)) return false;
  std::vector<const Event*> claims;
  for (const RowChange& change : row_changes(job)) {
    if (change.is_claim) claims.push_back(change.event);
  }
  if (claims.size() <= static_cast<std::size_t>(*terms.max_attempts)) return false;
  verdict.why = fmt::format(
      "claimed {}, first by {} and last by {}; after {} it must be flagged, and it is still {}: it loops and no "
      "operator "
      "is told",
      times(claims.size()), who_and_when(*claims.front()), who_and_when(*claims.back()), times(*terms.max_attempts),
      to_string(job.state));
  verdict.evidence = {claims.front()->seq, claims.back()->seq};
  return true;
}

}  // namespace

bool is_hidden(const JobFacts& job, const ContractTerms& terms, KeyVerdict& verdict) {
  if (!job.complete) return false;
  if (!was_deleted(job, verdict) && !is_unlisted(job, verdict) && !loops(job, terms, verdict)) return false;
  verdict.kind = VerdictKind::hidden;
  verdict.evidence.push_back(job.finished->seq);
  return true;
}

}  // namespace halfsent
