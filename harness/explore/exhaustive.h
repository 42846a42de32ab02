// The strategy `exhaustive`: every plan within a bound of faults and of preemptions, children from their parent's own
// history. Pure.
#pragma once

#include <vector>

#include "harness/core/history.h"
#include "harness/core/plan.h"
#include "harness/explore/strategy.h"

namespace halfsent {

// How much more a plan may be disturbed.
struct Bounds {
  int faults = 1;    // cells of the sweep but preemptions
  int switches = 0;  // preemptions
  friend bool operator==(const Bounds&, const Bounds&) = default;
};

// What is left once the plan has this cell too; a negative number: it was not within the bounds.
Bounds after(const SweepCell& cell, Bounds left);

// `plan` with one cell of the sweep more, for each window of its history that comes after its last fault, as far as
// `left` allows; the cell's faults are the whole plan's. Faults from the start are the first of a plan and no child's:
// they would change what comes before. REQUIRES: `history` is that of `plan`.
std::vector<SweepCell> children(const History& history, const Plan& plan, const SweepOptions& options,
                                const Bounds& left);

}  // namespace halfsent
