#include <fmt/format.h>

#include <algorithm>

#include "harness/contract/invariants.h"
#include "harness/contract/row_changes.h"
#include "harness/contract/sentences.h"
#include "harness/core/plan.h"

namespace halfsent {
namespace {

// The change that flagged it last, and when it had been reported delivered before.
struct Flagging {
  const RowChange* flag = nullptr;
  const RowChange* delivered = nullptr;
};

Flagging flagging(const std::vector<RowChange>& changes) {
  Flagging found;
  for (const RowChange& change : changes) {
    if (change.now->to == JobState::delivered) found.delivered = &change;
    if (change.now->to == JobState::flagged && change.now->from != JobState::flagged) found.flag = &change;
  }
  return found;
}

const Effect* known_to_the_flagger(const JobFacts& job, const RowChange& flag) {
  // In the same claim, before its lease ran out: later it is somebody who finds a job that others have left.
  if (!flag.holder_before || *flag.holder_before != flag.by || flag.before == nullptr) return nullptr;
  if (flag.before->lease_until.count() >= 0 && flag.before->lease_until <= flag.event->at) return nullptr;
  const auto found = std::find_if(job.effects.begin(), job.effects.end(), [&](const Effect& effect) {
    const bool in_doubt = effect.doubt != nullptr && effect.doubt->seq <= flag.event->seq;
    return effect.confirmed && effect.answered->seq < flag.event->seq && !in_doubt &&
           life_of(*effect.accepted) == flag.by;
  });
  return found == job.effects.end() ? nullptr : &*found;
}

bool downstream_denied(const JobFacts& job) {
  return std::any_of(job.effects.begin(), job.effects.end(), [](const Effect& effect) {
    if (effect.answered == nullptr) return false;
    const int status = std::get<Responded>(effect.answered->body).status;
    return status >= 300 && status < 500;
  });
}

}  // namespace

bool is_misflag(const JobFacts& job, const ContractTerms& terms, KeyVerdict& verdict) {
  const auto effects = job.new_effects();
  if (job.state != JobState::flagged || effects.empty()) return false;
  const auto changes = row_changes(job);
  const auto [flag, delivered] = flagging(changes);
  if (flag == nullptr) return false;
  const bool says_failed = terms.failed_words.contains(job.raw_state);
  const std::string accepted = fmt::format("accepted from {}", who_and_when(*effects.front()->accepted));
  const std::string flagged = fmt::format("flagged as {} by {}", quote_key(job.raw_state), who_and_when(*flag->event));
  const Effect* known = known_to_the_flagger(job, *flag);
  if (delivered != nullptr && delivered->event->seq < flag->event->seq) {
    verdict.why = fmt::format("{} and {}, then {}: an invitation to send it again", accepted,
                              row_change(*delivered->event), flagged);
    verdict.evidence = {effects.front()->accepted->seq, delivered->event->seq, flag->event->seq};
  } else if (known != nullptr && (terms.failed_words.empty() || says_failed)) {
    verdict.why =
        fmt::format("{}, answered {} at {}, and all the same {}: an invitation to send it again", accepted,
                    std::get<Responded>(known->answered->body).status, in_seconds(known->answered->at), flagged);
    verdict.evidence = {effects.front()->accepted->seq, known->answered->seq, flag->event->seq};
  } else if (says_failed && !downstream_denied(job)) {
    verdict.why = fmt::format("{}, and {}, which tells an operator that it was not delivered", accepted, flagged);
    verdict.evidence = {effects.front()->accepted->seq, flag->event->seq};
  } else {
    return false;
  }
  std::sort(verdict.evidence.begin(), verdict.evidence.end());
  verdict.kind = VerdictKind::misflag;
  return true;
}

}  // namespace halfsent
