#include <array>

#include "harness/explore/strategy.h"

namespace halfsent {
namespace {

constexpr std::array strategies = {
    StrategyInfo{"sweep",
                 "every window of the execution without faults x every fault that applies to it, one at a "
                 "time: `halfsent run SCENARIO`"},
};

}  // namespace

std::span<const StrategyInfo> strategy_table() { return strategies; }

}  // namespace halfsent
