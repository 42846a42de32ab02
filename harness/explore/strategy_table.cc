#include <array>

#include "harness/explore/strategy.h"

namespace halfsent {
namespace {

constexpr std::array strategies = {
    StrategyInfo{"sweep",
                 "every window of the execution without faults x every fault that applies to it, one at a "
                 "time: `halfsent run SCENARIO`"},
    StrategyInfo{"exhaustive",
                 "every plan of so many faults and preemptions, each next one in the history of the one before: "
                 "`halfsent run SCENARIO --strategy exhaustive --faults 2 --switches 1`"},
};

}  // namespace

std::span<const StrategyInfo> strategy_table() { return strategies; }

}  // namespace halfsent
