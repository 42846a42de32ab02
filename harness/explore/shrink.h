// A counterexample made smaller by running smaller ones. Pure but for the run, which is passed in.
//
// Smaller is: fewer faults and preemptions, shorter durations, no `then`, a kill of the whole tree. Greedy: the first
// smaller plan that fails in the same way is gone on from, until none does (the 1-minimal of Zeller and Hildebrandt's
// delta debugging, TSE 2002). What a plan does not say, the number of workers and jobs, stays.
#pragma once

#include <functional>
#include <vector>

#include "harness/core/plan.h"

namespace halfsent {

// Plans that are one step smaller, those that leave most away first.
std::vector<Plan> smaller_plans(const Plan& plan);

enum class Tried {
  same,   // fails in the same way
  other,  // does not
  stop,   // there is no time to try more
};

struct Shrunk {
  Plan plan;             // the smallest found
  int tried = 0;         // plans that were run
  bool minimal = false;  // no plan that is one step smaller fails in the same way; false: the time was up
};

// REQUIRES: `plan` fails. Each plan is tried once.
Shrunk shrink(const Plan& plan, const std::function<Tried(const Plan&)>& attempt);

}  // namespace halfsent
