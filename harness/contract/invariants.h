// The invariants of the table in judge.cc, one file each. All are pure and never throw.
#pragma once

#include "harness/contract/job_facts.h"
#include "harness/contract/judge.h"

namespace halfsent {

// More than one new effect, unless every earlier one was in doubt and the scenario accepts a possible duplicate.
bool is_duplicate(const JobFacts& job, const ContractTerms& terms, KeyVerdict& verdict);

// Reported delivered, never accepted.
bool is_phantom(const JobFacts& job, const ContractTerms& terms, KeyVerdict& verdict);

// Never accepted, and nothing will try again: no row, or a row in a state that nobody acts on.
bool is_lost(const JobFacts& job, const ContractTerms& terms, KeyVerdict& verdict);

// Not terminal when the execution ended.
bool is_stuck(const JobFacts& job, const ContractTerms& terms, KeyVerdict& verdict);

// More than one new effect that `terms` allows, because all but the last were in doubt when the next was requested.
bool is_allowed_duplicate(const JobFacts& job, const ContractTerms& terms);

}  // namespace halfsent
