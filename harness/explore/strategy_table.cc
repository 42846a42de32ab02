#include <algorithm>
#include <array>

#include "harness/explore/strategy.h"

namespace halfsent {
namespace {

constexpr std::array strategies = {
    StrategyInfo{"sweep",
                 "every window of the execution without faults x every fault that applies to it, one at a "
                 "time: `halfsent run SCENARIO`",
                 make_sweep},
    StrategyInfo{"exhaustive",
                 "every plan of so many faults and preemptions, each next one in the history of the one before: "
                 "`halfsent run SCENARIO --strategy exhaustive --faults 2 --switches 1`",
                 make_exhaustive},
    StrategyInfo{"random",
                 "so many walks, each next fault drawn in the history of those before; the seed fixes them: "
                 "`halfsent run SCENARIO --strategy random --plans 1000 --seed 7`",
                 make_random},
};

class Sweep final : public Strategy {
 public:
  explicit Sweep(const StrategyOptions& options) : options_(options.sweep) {}
  [[nodiscard]] SweepPlan first(const History& clean) const override { return sweep(clean, options_); }
  [[nodiscard]] std::vector<SweepCell> below(const Visit&) const override { return {}; }

 private:
  SweepOptions options_;
};

}  // namespace

std::span<const StrategyInfo> strategy_table() { return strategies; }

std::unique_ptr<Strategy> make_sweep(const StrategyOptions& options) { return std::make_unique<Sweep>(options); }

std::unique_ptr<Strategy> make_strategy(std::string_view name, const StrategyOptions& options) {
  const auto* found = std::find_if(strategies.begin(), strategies.end(),
                                   [name](const StrategyInfo& strategy) { return strategy.name == name; });
  return found->make(options);
}

}  // namespace halfsent
