// Strategies propose plans. Pure: a clean history in, plans out.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/core/boundary.h"
#include "harness/core/history.h"
#include "harness/core/plan.h"

namespace halfsent {

struct StrategyInfo {
  std::string_view name;
  std::string_view summary;  // which plans, and how it is run
};
std::span<const StrategyInfo> strategy_table();

struct SweepOptions {
  std::vector<FaultKind> faults = {FaultKind::kill, FaultKind::hold, FaultKind::drop};
  Nanoseconds hold_for{0};            // past the lease; also how long `stall` and `late` last
  std::vector<int> statuses = {503};  // one cell each for `status`
  // Stops that belong to no job come again and again while a worker polls an idle ledger: of each (name, actor) only
  // the first so many are swept.
  int idle_repeats = 1;
};

// One cell of the crash-window matrix.
struct SweepCell {
  Boundary boundary;
  Fault fault;
  friend bool operator==(const SweepCell&, const SweepCell&) = default;
};

struct SweepPlan {
  std::vector<SweepCell> cells;  // in the order of the clean history, at one stop in the order of the options
  int windows = 0;               // stops that have at least one cell
  int left_out = 0;              // idle stops that idle_repeats left out
  // Faults asked for that strike at no stop of their own (refuse, skew, step, restart): a sweep has no cell for them.
  std::vector<FaultKind> without_windows;
};

// Every window x every fault that applies to it. Each stop is taken once per fault, under its most telling name: what
// the stop comes before or after, then what it is inside of (in_claim), then an announced name, then the kind of
// effect (ledger_write). Faults of an actor (kill, hold, term) strike at every stop of an actor; faults of the
// downstream (drop, reset, half, stall, status, late) at before_accept and after_accept.
//
// A stop at which a commit is uncertain (CommitUncertain comes directly before it) is killed at twice, if the history
// has several actors: with the others connected, and, by `kill all`, with nobody connected: what follows may differ.
// Such a stop is never idle. Boundaries alone do not tell which they are: the second form knows none.
SweepPlan sweep(const History& clean, const SweepOptions& options);
SweepPlan sweep(std::span<const Boundary> boundaries, const SweepOptions& options);

}  // namespace halfsent
