// The operations view: what somebody who watches the ledger sees over virtual time, and the maxima of recovery.
//
// Words, all in the world's time:
// - A job is *eligible* from the first moment at which the ledger shows its row as pending or leased; rows of the
//   set-up from 0. (When it is due is the ledger's own matter: no rows query tells it.)
// - It is *open* from then until its row is delivered or flagged; a row that is made pending again is open again, and
//   its age still counts from the first time. A row that is removed, or in a state that nobody lists, is not open: that
//   is for the invariants to judge.
// - An open job is *waiting* while it is pending, or leased by a lease that has run out: somebody could take it. While
//   a lease is running it is not.
// - The *oldest pending age* is the age, since it was eligible, of the oldest waiting job; nothing waits: 0.
// - The *delay* of a job is from eligible to its first new effect at the downstream; where it was flagged without one,
//   to the flag. A job that has neither is delayed until the execution ended, at least.
// - A lease *expires* when it runs out while the row is still leased by it. A renewal is the same lease.
// - A lease is *abandoned* when its holder's incarnation ends (its root process) or when it expires. It blocks from
//   that death (where the holder lives on: from the claim or the last renewal) until the row changes again, or the
//   execution ends. The holder's own change ends it too.
// - A *takeover is early* when the row is claimed by another incarnation, or made pending by another actor, before the
//   lease has run out.
//
// Pure. No pointers into the history are kept; events are named by their number.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/contract/judge.h"
#include "harness/core/history.h"

namespace halfsent {

struct JobOperations {
  std::string key;
  Nanoseconds eligible{0};
  Seq eligible_seq = no_seq;
  // The row's own count at the end, or where the rows query gives none the changes to leased that are no renewal.
  std::int64_t attempts = 0;
  JobState state = JobState::none;  // at the end
  friend bool operator==(const JobOperations&, const JobOperations&) = default;
};

// One measured length of time.
struct Span {
  std::string key;
  std::string holder;  // of a lease: "worker-1", "worker-1 (incarnation 2)"; empty for a delay
  Nanoseconds from{0};
  Nanoseconds to{0};
  bool open = false;  // it had not ended when the execution did
  std::vector<Seq> evidence;
  [[nodiscard]] Nanoseconds length() const { return to - from; }
  friend bool operator==(const Span&, const Span&) = default;
};

// What an operator's board shows from `at` until the next point. Jobs but where it says otherwise.
struct BoardPoint {
  Nanoseconds at{0};
  int pending = 0;
  int leased = 0;   // by a lease that is running
  int expired = 0;  // leased by a lease that has run out
  int delivered = 0;
  int flagged = 0;
  int past_target = 0;             // open for longer than the pending target
  Nanoseconds oldest_waiting{-1};  // since when the oldest waiting job is eligible; negative: nothing waits
  std::int64_t attempts = 0;       // claims so far, of all jobs
  friend bool operator==(const BoardPoint&, const BoardPoint&) = default;
};

struct Operations {
  std::vector<JobOperations> jobs;  // ordered by key
  std::vector<BoardPoint> series;   // ordered by time, one for each moment at which something changes
  Nanoseconds end{0};
  int effects = 0;
  int recognised = 0;
  int expired_leases = 0;
  int early_takeovers = 0;
  std::vector<Seq> early_evidence;
  int other_keys = 0;  // requests that carry another key than their job's, or none
  std::vector<Seq> other_keys_evidence;
  std::vector<Span> delays;  // one for each job, ordered by key
  std::vector<Span> blocks;  // one for each abandoned lease, in the order in which they ended
  friend bool operator==(const Operations&, const Operations&) = default;

  // Null where there is none. Of equal ones the first.
  [[nodiscard]] const Span* longest_delay() const;
  [[nodiscard]] const Span* longest_block() const;
  // At the end, and the greatest over the whole execution.
  [[nodiscard]] Nanoseconds oldest_pending() const;
  [[nodiscard]] Nanoseconds greatest_oldest_pending() const;
};

// `terms` tells which requests belong to which job, and the pending target.
Operations watch(const History& history, const ContractTerms& terms);

}  // namespace halfsent
