#include <fmt/format.h>

#include "harness/contract/invariants.h"
#include "harness/contract/sentences.h"

namespace halfsent {
namespace {

std::string about_claims(const JobFacts& job) {
  const Event* claim = job.last_claim();
  if (claim == nullptr) return "never claimed";
  const Nanoseconds until = std::get<LedgerChanged>(claim->body).lease_until;
  if (until.count() < 0) return "last claimed by " + who_and_when(*claim);
  return fmt::format("last claimed by {}, leased until {}", who_and_when(*claim), in_seconds(until));
}

std::string about_accepts(const JobFacts& job) {
  const auto effects = job.new_effects();
  if (effects.empty()) return "never accepted";
  return fmt::format("accepted {}, last from {}", times(effects.size()), who_and_when(*effects.back()->accepted));
}

}  // namespace

bool is_stuck(const JobFacts& job, const ContractTerms&, KeyVerdict& verdict) {
  const bool open = job.state == JobState::pending || job.state == JobState::leased;
  if (!job.complete || !open) return false;
  verdict.kind = VerdictKind::stuck;
  verdict.why = fmt::format("still {} when the execution ended at {} ({}): {}; {}", to_string(job.state),
                            in_seconds(job.finished->at), std::get<Finished>(job.finished->body).reason,
                            about_claims(job), about_accepts(job));
  if (const Event* last = job.last_change()) verdict.evidence.push_back(last->seq);
  verdict.evidence.push_back(job.finished->seq);
  return true;
}

}  // namespace halfsent
