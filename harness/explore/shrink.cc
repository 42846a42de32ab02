#include "harness/explore/shrink.h"

#include <rapidcheck.h>

#include <set>
#include <string>

namespace halfsent {
namespace {

// Below that a duration says no more about leases.
constexpr Nanoseconds shortest = std::chrono::seconds{1};

std::vector<Fault> in_order(std::vector<Fault> faults) {
  if (!faults.empty()) faults.front().then = false;
  return faults;
}

std::vector<Fault> simpler(const Fault& fault) {
  std::vector<Fault> found;
  if (fault.then) {
    found.push_back(fault);
    found.back().then = false;
  }
  if (fault.scope != KillScope::tree) {
    found.push_back(fault);
    found.back().scope = KillScope::tree;
  }
  const Nanoseconds half = std::chrono::duration_cast<std::chrono::seconds>(fault.duration / 2);
  if (half >= shortest || half <= -shortest) {
    found.push_back(fault);
    found.back().duration = half;
  }
  return found;
}

}  // namespace

std::vector<Plan> smaller_plans(const Plan& plan) {
  std::vector<Plan> plans;
  const auto add = [&](std::vector<Fault> faults) {
    plans.push_back({.scenario = plan.scenario, .seed = plan.seed, .faults = std::move(faults)});
  };
  rc::Seq<std::vector<Fault>> fewer = rc::shrink::removeChunks(plan.faults);
  for (auto faults = fewer.next(); faults; faults = fewer.next()) {
    // Without any fault nothing is left to explain.
    if (!faults->empty()) add(in_order(std::move(*faults)));
  }
  for (std::size_t i = 0; i < plan.faults.size(); ++i) {
    for (const Fault& fault : simpler(plan.faults[i])) {
      std::vector<Fault> faults = plan.faults;
      faults[i] = fault;
      add(std::move(faults));
    }
  }
  return plans;
}

Shrunk shrink(const Plan& plan, const std::function<Tried(const Plan&)>& attempt) {
  Shrunk best{.plan = plan, .tried = 0, .minimal = false};
  std::set<std::string> seen = {to_string(plan)};
  bool found = true;
  while (found) {
    found = false;
    for (const Plan& smaller : smaller_plans(best.plan)) {
      if (!seen.insert(to_string(smaller)).second) continue;
      const Tried result = attempt(smaller);
      if (result == Tried::stop) return best;
      ++best.tried;
      if (result == Tried::other) continue;
      best.plan = smaller;
      found = true;
      break;
    }
  }
  best.minimal = true;
  return best;
}

}  // namespace halfsent
