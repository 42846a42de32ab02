#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "harness/contract/invariants.h"
#include "harness/contract/sentences.h"
#include "harness/core/plan.h"

namespace halfsent {
namespace {

// The first request with each key that the job's requests carried.
std::vector<const Event*> first_of_each_key(const JobFacts& job) {
  std::vector<const Event*> found;
  const auto key_of = [](const Event* event) { return std::get<Requested>(event->body).key; };
  for (const Event* request : job.requests) {
    const std::string key = key_of(request);
    if (key.empty()) continue;
    const bool known =
        std::any_of(found.begin(), found.end(), [&](const Event* other) { return key_of(other) == key; });
    if (!known) found.push_back(request);
  }
  return found;
}

void cite(KeyVerdict& verdict, std::initializer_list<const Event*> events) {
  for (const Event* event : events) verdict.evidence.push_back(event->seq);
  std::sort(verdict.evidence.begin(), verdict.evidence.end());
}

}  // namespace

bool is_wrong_key(const JobFacts& job, const ContractTerms&, KeyVerdict& verdict) {
  const auto keys = first_of_each_key(job);
  if (keys.size() > 1) {
    std::vector<std::string> uses;
    for (const Event* request : keys) {
      uses.push_back(
          fmt::format("{} by {}", quote_key(std::get<Requested>(request->body).key), who_and_when(*request)));
      cite(verdict, {request});
    }
    verdict.why = fmt::format("sent under {} different keys: {}", keys.size(), listed(uses));
  } else if (!job.shared_keys.empty()) {
    const SharedKey& shared = job.shared_keys.front();
    cite(verdict, {shared.mine, shared.theirs});
    verdict.why =
        fmt::format("sent under the key {} by {}, and another job, {}, under the same key by {}", quote_key(shared.key),
                    who_and_when(*shared.mine), quote_key(shared.other_job), who_and_when(*shared.theirs));
  } else if (job.same_slot) {
    const SameSlot& same = *job.same_slot;
    cite(verdict, {same.theirs, same.mine});
    verdict.why =
        fmt::format("a second key for the slot {}: {}, while {} stands for the same one ({})", quote_key(same.slot),
                    row_change(*same.mine), quote_key(same.other_job), row_change(*same.theirs));
  } else {
    return false;
  }
  verdict.kind = VerdictKind::wrong_key;
  return true;
}

}  // namespace halfsent
