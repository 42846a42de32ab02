// The invariants of a run, of the table in judge.cc, one file each. All are pure and never throw.
//
// They judge what the ledger showed at each step, by true virtual time. Where a plan puts the clock of an actor wrong,
// what that actor takes for expired is its clock's fault and not judged; times that must be kept are then longer by
// what the clocks are off. Rows that changed by nobody's doing (set-up, a failover that put an older ledger back) and
// commits that a recovery finished or took back are where judging starts anew, not what is judged. Of a key with
// several rows only unique_key speaks.
#pragma once

#include "harness/contract/judge.h"
#include "harness/contract/run_facts.h"

namespace halfsent {

// Never two rows with one key at the same time.
RunFindings judge_unique_key(const RunFacts& run, const ContractTerms& terms);

// A lease that has not run out is not taken, given away or flagged by anybody but its holder, as long as the holder
// lives: an orphan of its tree counts as alive. Of a holder that is dead nobody is robbed; who was there before the run
// began is not known to be dead. A ledger that counts in seconds is given one second. Marking delivered is no robbery.
// Needs lease_until.
RunFindings judge_early_reclaim(const RunFacts& run, const ContractTerms& terms);

// A lease that has run out is taken up, given back or settled within terms.recovery, counted again after each
// disturbance. A leased row without an expiry has one lease. Needs lease_until; judges what is absent.
RunFindings judge_lease_recovery(const RunFacts& run, const ContractTerms& terms);

// Who once held the job and holds it no more changes nothing: it does not mark it delivered, does not take back that it
// was delivered, and does not touch a lease of another that lives and has not run out. It may claim again, and do what
// anybody may about a lease that has run out.
RunFindings judge_stale_holder(const RunFacts& run, const ContractTerms& terms);

// attempts grows by one with each claim and at no other time, but for an operator's redrive of a flagged job; and there
// are no more claims than terms.max_attempts. Needs attempts.
RunFindings judge_attempts(const RunFacts& run, const ContractTerms& terms);

// Only: nothing to pending, leased or flagged; pending to leased or flagged; leased to leased, pending, delivered or
// flagged; flagged to pending, or to delivered by one who never held it (an operator); delivered and flagged to nothing
// (a purge); leased to nothing by a holder whose send was accepted; pending to delivered where nobody ever claims. An
// unlisted state on the way is not judged, and a row that is removed for good is a matter of its job: lost, hidden.
RunFindings judge_transitions(const RunFacts& run, const ContractTerms& terms);

// After each step: a claim has somebody who runs it. A holder that is alive and undisturbed, or has left by itself with
// code 0, and lets its lease run out without a request for that job and without a change of its row, does not know what
// it holds. Needs lease_until.
RunFindings judge_claims_are_run(const RunFacts& run, const ContractTerms& terms);

// The age of the oldest pending job returns to zero: none stays pending after it is due for longer than terms.recovery,
// counted again after each disturbance. Needs due_at; judges what is absent.
RunFindings judge_pending_age(const RunFacts& run, const ContractTerms& terms);

// Each cohort has one scheduling authority at a time: once another has scheduled for it, the earlier one does no more.
// Authorities that are all whole numbers may only grow; of names none may come back. Two schedulers with the same
// authority are one. Needs cohort and authority.
RunFindings judge_one_authority(const RunFacts& run, const ContractTerms& terms);

// Eligible equals created equals delivered plus flagged, by slot where rows tell one and else by key. Needs
// terms.eligible; judges what is absent.
RunFindings judge_eligible(const RunFacts& run, const ContractTerms& terms);

// Once faults stop everything comes to rest: the execution does not end at the horizon with a ledger that still
// changes. (A job that is open then is `stuck` or `hidden`.) Judges what is absent.
RunFindings judge_drains(const RunFacts& run, const ContractTerms& terms);

}  // namespace halfsent
