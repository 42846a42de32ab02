#include <algorithm>
#include <optional>
#include <variant>

#include "harness/explore/strategy.h"

namespace halfsent {
namespace {

// The last moment at which the plan struck; none: it never did.
std::optional<Seq> last_strike(const History& history) {
  std::optional<Seq> last;
  for (const Event& event : history.events)
    if (std::holds_alternative<FaultFired>(event.body)) last = event.seq;
  return last;
}

class Exhaustive final : public Strategy {
 public:
  explicit Exhaustive(const StrategyOptions& options) : options_(options) {}

  [[nodiscard]] SweepPlan first(const History& clean) const override {
    SweepPlan plan = sweep(clean, options_.sweep);
    std::erase_if(plan.cells, [&](const SweepCell& cell) {
      const Bounds left = after(cell, options_.bounds);
      return left.faults < 0 || left.switches < 0;
    });
    return plan;
  }

  [[nodiscard]] std::vector<SweepCell> below(const Visit& visit) const override {
    return children(*visit.history, *visit.plan, options_.sweep, visit.left);
  }

 private:
  StrategyOptions options_;
};

}  // namespace

std::unique_ptr<Strategy> make_exhaustive(const StrategyOptions& options) {
  return std::make_unique<Exhaustive>(options);
}

Bounds after(const SweepCell& cell, Bounds left) {
  const bool preempts = cell.faults.back().kind == FaultKind::switch_;
  --(preempts ? left.switches : left.faults);
  return left;
}

std::vector<SweepCell> children(const History& history, const Plan& plan, const SweepOptions& options,
                                const Bounds& left) {
  std::vector<SweepCell> found;
  if (left.faults <= 0 && left.switches <= 0) return found;
  const std::optional<Seq> struck = last_strike(history);
  if (!plan.faults.empty() && !struck) return found;
  for (SweepCell& cell : sweep(history, options).cells) {
    const bool anchored =
        std::all_of(cell.faults.begin(), cell.faults.end(), [](const Fault& fault) { return fault.at.has_value(); });
    if (!plan.faults.empty() && (!anchored || !cell.boundary || cell.boundary->seq <= *struck)) continue;
    const Bounds then = after(cell, left);
    if (then.faults < 0 || then.switches < 0) continue;
    // Its boundary may have a namesake before the last one.
    cell.faults.front().then =
        std::any_of(plan.faults.begin(), plan.faults.end(), [](const Fault& before) { return before.at.has_value(); });
    cell.faults.insert(cell.faults.begin(), plan.faults.begin(), plan.faults.end());
    found.push_back(std::move(cell));
  }
  return found;
}

}  // namespace halfsent
