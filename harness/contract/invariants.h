// The invariants of the table in judge.cc, one file each. All are pure and never throw.
#pragma once

#include "harness/contract/job_facts.h"
#include "harness/contract/judge.h"

namespace halfsent {

// More than one new effect, unless every earlier one was in doubt and the scenario accepts a possible duplicate.
bool is_duplicate(const JobFacts& job, const ContractTerms& terms, KeyVerdict& verdict);

// Accepted, and the ledger never had a row for it, or lost the row to a failover: what was sent had been scheduled in a
// transaction that did not last. Judged at the end only: a row may follow.
bool is_ghost(const JobFacts& job, const ContractTerms& terms, KeyVerdict& verdict);

// Reported delivered, never accepted.
bool is_phantom(const JobFacts& job, const ContractTerms& terms, KeyVerdict& verdict);

// Requests for the job carried several idempotency keys, or one that another job's request carried too, or two keys
// stand for one slot. What was accepted does not matter: the next lost answer makes a duplicate or a phantom of it.
// Requests without a key say nothing, and a key that was made up for a job that could only be guessed neither.
bool is_wrong_key(const JobFacts& job, const ContractTerms& terms, KeyVerdict& verdict);

// Accepted, and flagged in a way that invites an operator to send it again:
// - it had been reported delivered before it was flagged;
// - its worker got a whole 2xx in time and flagged the job in the same claim, before its lease ran out. Where the terms
//   tell which words say "failed", only with one of those: a worker that cannot mark may well ask for a review;
// - it is flagged with one of those words, whoever did it and whatever was known; unless the downstream itself had
//   answered with a 3xx or 4xx: then the downstream lied.
// A doubtful effect under any other word is what flags are for.
bool is_misflag(const JobFacts& job, const ContractTerms& terms, KeyVerdict& verdict);

// Never accepted, and nothing will try again: no row, because none was ever made or because whoever took the job took
// the row away.
bool is_lost(const JobFacts& job, const ContractTerms& terms, KeyVerdict& verdict);

// Neither delivered nor flagged, and not to be seen among what is open:
// - the row is gone, after an attempt whose outcome whoever removed it did not know to be a success;
// - the row is in a state that the scenario does not list;
// - it is still open and has been claimed more often than the terms allow attempts: nobody will ever flag it.
bool is_hidden(const JobFacts& job, const ContractTerms& terms, KeyVerdict& verdict);

// Not terminal when the execution ended: still pending or leased.
bool is_stuck(const JobFacts& job, const ContractTerms& terms, KeyVerdict& verdict);

// More than one new effect that `terms` allows, because all but the last were in doubt when the next was requested.
bool is_allowed_duplicate(const JobFacts& job, const ContractTerms& terms);

}  // namespace halfsent
