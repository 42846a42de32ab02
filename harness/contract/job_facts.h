// What a history says about each job: which effects are its own, what became of its row, and where doubt arose.
//
// Pure. The facts point into the history they were gathered from, which must outlive them.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/contract/judge.h"
#include "harness/core/history.h"

namespace halfsent {

// One acceptance by the downstream.
struct Effect {
  const Event* requested = nullptr;  // null in a history that lacks it
  const Event* accepted = nullptr;
  bool deduplicated = false;  // the key was known and honoured: nothing new happened
  std::string sent_key;       // as the request carried it, empty: none

  // Doubt: before the row was marked, the worker died (its root process, or the one that sent), lost the response
  // (drop, reset, half, a status that is no 2xx), gave up waiting for it, or was stopped by the plan when another took
  // the job up. Null: it knew, or could still learn, what happened.
  const Event* doubt = nullptr;
  std::string doubt_reason;  // "worker-1 died at 0.004 s, before the job was marked"

  // Where the plan had stopped the sender after its claim, and another took the job up meanwhile: when it ran again.
  // Before a downstream that ignores keys nothing can keep such a one from sending.
  const Event* late = nullptr;

  // When it was asked for.
  [[nodiscard]] Seq asked() const { return requested != nullptr ? requested->seq : accepted->seq; }

  const Event* answered = nullptr;  // Responded, or null
  // The answer was a 2xx, came whole and in time: whoever sent the request knows that it was accepted.
  bool confirmed = false;
};

// The same idempotency key in a request of another job.
struct SharedKey {
  std::string key;
  std::string other_job;
  const Event* mine = nullptr;
  const Event* theirs = nullptr;
};

// An older job with another key for the same slot.
struct SameSlot {
  std::string slot;
  std::string other_job;
  const Event* mine = nullptr;  // the changes that made the rows
  const Event* theirs = nullptr;
};

struct JobFacts {
  std::string key;
  std::vector<Effect> effects;          // in the order of acceptance
  std::vector<const Event*> changes;    // LedgerChanged of its row, in order
  std::vector<const Event*> uncertain;  // CommitUncertain of its row, in order
  std::vector<const Event*> requests;
  std::vector<SharedKey> shared_keys;  // in the order of the keys' first requests; each key once
  std::optional<SameSlot> same_slot;   // none for the first job of a slot

  // The row when the execution ended.
  JobState state = JobState::none;
  std::string raw_state;

  const Event* finished = nullptr;  // null in a history that was cut off
  bool complete = false;            // the execution ended by itself: what is absent may be judged

  // Effects that were new, in order.
  [[nodiscard]] std::vector<const Effect*> new_effects() const;
  // The first change to delivered or flagged, or null.
  [[nodiscard]] const Event* first_mark() const;
  // The last change of the row, or null.
  [[nodiscard]] const Event* last_change() const { return changes.empty() ? nullptr : changes.back(); }
  // The last change to leased, or null.
  [[nodiscard]] const Event* last_claim() const;
};

struct Facts {
  std::map<std::string, JobFacts> jobs;  // the keys of the terms, every key the ledger showed, every key accepted
  // Whether the ledger ever showed the key, or the terms name it.
  std::map<std::string, bool> known;
  // Accepted requests whose job could only be guessed, or not be told at all, as sentences.
  std::vector<std::string> attribution_problems;
};

// A request belongs to the job that it names (Requested.job), failing that to the one whose key it carries. Names that
// are no job's (or none at all) say nothing: then it is the job that the requesting incarnation claimed last and has
// not settled. Without such a claim the name stands for a job that the ledger never had.
Facts gather_facts(const History& history, const ContractTerms& terms);

// True for the reasons with which an execution ends by itself.
bool is_complete(const Finished& finished);

}  // namespace halfsent
