// Judges the numbers of an execution: recovery objectives, and what a drill expects in the end.
//
// Pure. `whole`: the execution ran its course with everybody there, so that what is absent may be judged. Without it,
// only lengths of time that ended are judged and no expectation is.
#pragma once

#include "harness/contract/operations.h"
#include "harness/core/objectives.h"
#include "harness/core/verdict.h"

namespace halfsent {

// Adds one entry to verdict.broken for each job and each lease that took longer than the scenario allows.
void judge_objectives(const Operations& seen, const Objectives& objectives, bool whole, Verdict& verdict);

// Adds one entry to verdict.broken for each number that is another one.
void judge_expectations(const Operations& seen, const Expectations& expected, bool whole, Verdict& verdict);

}  // namespace halfsent
