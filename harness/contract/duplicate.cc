#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "harness/contract/invariants.h"
#include "harness/contract/sentences.h"
#include "harness/core/plan.h"

namespace halfsent {
namespace {

// Every effect before the last was in doubt when the next one was requested, or that one is a stopped holder's.
bool each_repeat_had_a_reason(std::vector<const Effect*> effects) {
  // As they were asked for: what was asked first may be accepted last.
  std::sort(effects.begin(), effects.end(), [&](const Effect* a, const Effect* b) { return a->asked() < b->asked(); });
  for (std::size_t i = 1; i < effects.size(); ++i) {
    const Effect& repeat = *effects[i];
    for (std::size_t earlier = 0; repeat.late == nullptr && earlier < i; ++earlier) {
      const Event* doubt = effects[earlier]->doubt;
      if (doubt == nullptr || doubt->seq > repeat.asked()) return false;
    }
  }
  return true;
}

// Why a downstream that honours keys took it twice.
std::string about_keys(const std::vector<const Effect*>& effects, const ContractTerms& terms) {
  if (!terms.downstream_honours_key) return "no";
  std::set<std::string> keys;
  for (const auto* effect : effects) keys.insert(effect->sent_key);
  if (keys.size() == 1 && keys.begin()->empty()) return "yes, but the requests carried none";
  if (keys.size() == 1) return "yes, but it had forgotten the key";
  std::vector<std::string> names;
  for (const auto& key : keys) names.push_back(key.empty() ? "none" : quote_key(key));
  return "yes, but the requests carried different ones: " + listed(names);
}

}  // namespace

bool is_allowed_duplicate(const JobFacts& job, const ContractTerms& terms) {
  const auto effects = job.new_effects();
  return effects.size() > 1 && !terms.downstream_honours_key && terms.on_doubt == ContractTerms::OnDoubt::retry &&
         each_repeat_had_a_reason(effects);
}

bool is_duplicate(const JobFacts& job, const ContractTerms& terms, KeyVerdict& verdict) {
  const auto effects = job.new_effects();
  if (effects.size() < 2 || is_allowed_duplicate(job, terms)) return false;
  std::vector<std::string> accepts;
  for (const auto* effect : effects) {
    accepts.push_back("from " + who_and_when(*effect->accepted));
    verdict.evidence.push_back(effect->accepted->seq);
  }
  verdict.kind = VerdictKind::duplicate;
  verdict.why = fmt::format("accepted {}: {}; key honoured: {}", times(effects.size()), listed(accepts),
                            about_keys(effects, terms));
  return true;
}

}  // namespace halfsent
