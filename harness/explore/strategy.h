// Strategies propose plans. Pure: histories in, plans out.
//
// A campaign runs the first plans of its strategy, in any order and by any number of jobs and shards; each of them is a
// unit with all that is below it. Below a plan whose execution held are plans with one window more, found in its own
// history. What a strategy proposes depends on its options and on these histories alone.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/core/history.h"
#include "harness/core/plan.h"
#include "harness/explore/sweep.h"

namespace halfsent {

// How much more a plan may be disturbed.
struct Bounds {
  int faults = 1;    // cells of the sweep but preemptions
  int switches = 0;  // preemptions
  friend bool operator==(const Bounds&, const Bounds&) = default;
};

// What is left once the plan has this cell too; a negative number: it was not within the bounds.
Bounds after(const SweepCell& cell, Bounds left);

struct StrategyOptions {
  SweepOptions sweep;
  Bounds bounds;           // of one plan; not for the sweep, whose cells are one each
  std::uint64_t seed = 1;  // random: of the choices
  int plans = 1000;        // random: how many units
};

// A plan that was run, as a place to go on from.
struct Visit {
  std::size_t unit = 0;
  std::size_t windows = 1;  // that the plan strikes
  const Plan* plan = nullptr;
  const History* history = nullptr;  // of the plan
  Bounds left;
};

class Strategy {
 public:
  virtual ~Strategy() = default;
  // The units. REQUIRES: `clean` is the history of the plan without faults.
  [[nodiscard]] virtual SweepPlan first(const History& clean) const = 0;
  // The faults of each cell are the whole plan's. REQUIRES: the execution held.
  [[nodiscard]] virtual std::vector<SweepCell> below(const Visit& visit) const = 0;
};

struct StrategyInfo {
  std::string_view name;
  std::string_view summary;  // which plans, and how it is run
  std::unique_ptr<Strategy> (*make)(const StrategyOptions& options);
};
std::span<const StrategyInfo> strategy_table();
// REQUIRES: the name is one of the table.
std::unique_ptr<Strategy> make_strategy(std::string_view name, const StrategyOptions& options);

// The rows of the table, each in its own file.
std::unique_ptr<Strategy> make_sweep(const StrategyOptions& options);
std::unique_ptr<Strategy> make_exhaustive(const StrategyOptions& options);
std::unique_ptr<Strategy> make_random(const StrategyOptions& options);

// The cells that may come next: those of the sweep of `history` after its last fault, as far as `left` allows; the
// faults of each are the whole plan's, its own last. Faults from the start are the first of a plan and no child's: they
// would change what comes before. Without a fault that fired where one was planned there are none. REQUIRES: `history`
// is that of `plan`.
std::vector<SweepCell> children(const History& history, const Plan& plan, const SweepOptions& options,
                                const Bounds& left);

}  // namespace halfsent
