// A pass must be earned: what keeps an execution without a violation from being one.
#pragma once

#include <string>

#include "harness/contract/job_facts.h"
#include "harness/core/verdict.h"

namespace halfsent {

// Counts the faults and names those that were never reached.
void check_faults(const History& history, const Plan& plan, Verdict& verdict);

// Deaths that nobody asked for. Only the root process of a tree counts: how its children end is its own affair (a child
// that a signal ended is noted).
void check_deaths(const History& history, const Plan& plan, Verdict& verdict);

// Who is missing at the end because the plan keeps them away (restart): "worker-1 and worker-2, whom the plan
// killed and did not let come back". Empty while each of them has another of its kind there: whoever stays away must be
// replaced by the others, and when there are none, nothing that is not done is the system's fault.
std::string kept_away(const History& history, const Plan& plan);

// How the execution ended.
void check_end(const History& history, Verdict& verdict);

}  // namespace halfsent
