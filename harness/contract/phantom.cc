#include <fmt/format.h>

#include "harness/contract/invariants.h"
#include "harness/contract/sentences.h"

namespace halfsent {
namespace {

// The change that reported the job delivered: its last word, a removal (archiving, purging) after it does not take it
// back.
const Event* delivery_report(const JobFacts& job) {
  for (auto it = job.changes.rbegin(); it != job.changes.rend(); ++it) {
    const JobState to = std::get<LedgerChanged>((*it)->body).to;
    if (to == JobState::delivered) return *it;
    if (to != JobState::none) return nullptr;
  }
  return nullptr;
}

std::string about_requests(const JobFacts& job) {
  if (!job.effects.empty()) {
    return fmt::format("; its request at {} was taken for a repeat of another job's",
                       in_seconds(job.effects.front().accepted->at));
  }
  if (job.requests.empty()) return "; no request for it ever reached the downstream";
  return fmt::format("; it was requested {} and the downstream accepted none of them", times(job.requests.size()));
}

}  // namespace

bool is_phantom(const JobFacts& job, const ContractTerms&, KeyVerdict& verdict) {
  const Event* report = delivery_report(job);
  if (!job.complete || report == nullptr || !job.new_effects().empty()) return false;
  verdict.kind = VerdictKind::phantom;
  verdict.why = row_change(*report) + ", never accepted" + about_requests(job);
  verdict.evidence = {report->seq, job.finished->seq};
  return true;
}

}  // namespace halfsent
