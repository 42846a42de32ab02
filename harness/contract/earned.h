// A pass must be earned: what keeps an execution without a violation from being one.
#pragma once

#include "harness/contract/job_facts.h"
#include "harness/core/verdict.h"

namespace halfsent {

// Counts the faults and names those that were never reached.
void check_faults(const History& history, const Plan& plan, Verdict& verdict);

// Deaths that nobody asked for. Only the root process of a tree counts: how its children end is its own affair (a child
// that a signal ended is noted).
void check_deaths(const History& history, const Plan& plan, Verdict& verdict);

// How the execution ended.
void check_end(const History& history, Verdict& verdict);

}  // namespace halfsent
