// What can happen in an execution. A history is a list of these, in order.
//
// Times are virtual nanoseconds since the world's start. Nothing here depends on the host: pids, paths of
// the host, ports, wall-clock times and addresses never enter an event, so that the same plan gives the
// same bytes on another day and another machine.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <variant>

namespace halfsent {

using Nanoseconds = std::chrono::nanoseconds;

// Sequence number of an event in its history; the first is 0. Faults are anchored to it.
using Seq = std::uint64_t;
inline constexpr Seq no_seq = ~Seq{0};

// The ledger states the contract knows. A scenario maps the user's own words to these.
// `none`: there is no row. `unlisted`: the row has a state that the scenario does not list.
enum class JobState { none, pending, leased, delivered, flagged, unlisted };

// An actor incarnation was started (its real process exists and is stopped before its first effect).
struct Started {
  friend bool operator==(const Started&, const Started&) = default;
};

// A thread is parked at the entry of a system call that has an effect. It has not happened yet.
struct Stopped {
  std::string call = {};           // "sendto", "pwrite64", "fcntl", ...; "at" for an announced boundary
  std::string object = {};         // "ledger.db-wal", "downstream", "pipe", "out.txt"; announced: its NAME
  std::string detail = {};         // "setlk write 120+1", "offset 4096"; announced: its KEY
  std::uint64_t bytes = 0;         // size of the data, 0 where there is none
  bool holds_ledger_lock = false;  // at entry, this actor holds a lock of a ledger transaction
  friend bool operator==(const Stopped&, const Stopped&) = default;
};

// A thread is held in a wait (sleep, poll, read of an empty pipe, lock held by another...).
struct Waiting {
  std::string call = {};
  std::string object = {};
  Nanoseconds deadline{-1};  // virtual time since start; negative: no time-out
  friend bool operator==(const Waiting&, const Waiting&) = default;
};

// The downstream has received a complete request. It has not decided yet.
struct Requested {
  std::uint64_t request = 0;  // 1, 2, 3 ... over the execution
  std::string key = {};       // empty: the request carries none
  std::string method = {};
  std::string path = {};
  std::string body_digest = {};  // xxh64 of the body, 16 hex digits
  int attempt = 0;               // n-th request that carries this key, from 1
  bool client_retry = false;     // re-sent by the client library within one attempt
  Seq first_send = no_seq;       // the Stopped event whose release sent its first byte
  std::string job = {};          // the job it is for, when the scenario can tell it without the key
  friend bool operator==(const Requested&, const Requested&) = default;
};

// The downstream has durably accepted the request: the effect has happened. No byte of the response is
// visible to the worker yet. `deduplicated`: the key was known and honoured, so there is no new effect.
struct Accepted {
  std::uint64_t request = 0;
  std::string key = {};
  bool deduplicated = false;
  friend bool operator==(const Accepted&, const Accepted&) = default;
};

// What the downstream did about the response: status and how ("full", "half", "drop", "reset", "late").
struct Responded {
  std::uint64_t request = 0;
  std::string key = {};
  int status = 0;
  std::string how = "full";
  friend bool operator==(const Responded&, const Responded&) = default;
};

// A row changed in the live view of the ledger. The event's actor is the one whose released step did it.
struct LedgerChanged {
  std::string key = {};
  JobState from = JobState::none;
  JobState to = JobState::none;
  std::string raw_state = {};   // the ledger's own word for `to`
  std::int64_t attempts = -1;   // negative: the rows query gives none
  Nanoseconds lease_until{-1};  // virtual time since start; negative: none
  // What only some rows queries give; a history in which they are absent looks as if they did not exist.
  std::string token = {};      // fencing token: another one with each claim; empty: none
  std::string owner = {};      // who holds the claim, in the ledger's own words; empty: nobody, or not told
  std::string slot = {};       // what the job is for, when its key alone does not say it (customer and week)
  std::string cohort = {};     // the customers that are scheduled together
  std::string authority = {};  // who scheduled it: a number that grows with each failover, or a name
  Nanoseconds due_at{-1};      // when a pending row may be claimed; 0: before the world began; negative: none
  int rows = 1;                // rows with this key; the event tells of the one that is furthest from done
  friend bool operator==(const LedgerChanged&, const LedgerChanged&) = default;
};

// The live and the cold view of the ledger differ here: what a crash leaves depends on who is connected.
struct CommitUncertain {
  std::string key = {};
  JobState live = JobState::none;
  JobState cold = JobState::none;
  friend bool operator==(const CommitUncertain&, const CommitUncertain&) = default;
};

// A fault of the plan took effect. `fault` is its index in the plan.
struct FaultFired {
  int fault = 0;
  std::string text = {};  // the fault as the plan prints it
  friend bool operator==(const FaultFired&, const FaultFired&) = default;
};

// A held actor runs again.
struct Released {
  friend bool operator==(const Released&, const Released&) = default;
};

// How an incarnation, or with process > 0 a process of its tree, ended.
struct Ended {
  enum class How { exited, signalled, killed_by_plan, ended_with_world };
  How how = How::exited;
  int code = 0;  // exit code or signal number
  friend bool operator==(const Ended&, const Ended&) = default;
};

// Something a reader must know and no invariant needs ("wrote outside the world: /var/x").
struct Note {
  std::string text = {};
  friend bool operator==(const Note&, const Note&) = default;
};

// The last event. `reason`: "drained", "horizon", "all exited", "deadlock", "unsupported wait NAME",
// "spins", "died", "output", "divergence", "interrupted". Only the first three can be judged as complete.
struct Finished {
  std::string reason = {};
  std::string detail = {};
  friend bool operator==(const Finished&, const Finished&) = default;
};

using EventBody = std::variant<Started, Stopped, Waiting, Requested, Accepted, Responded, LedgerChanged,
                               CommitUncertain, FaultFired, Released, Ended, Note, Finished>;

struct Event {
  Seq seq = 0;
  Nanoseconds at{0};
  std::string actor = {};  // "worker-1"; empty: the world, or a change nobody of ours made
  int incarnation = 0;     // from 1; 0: no actor
  int process = 0;         // index in the actor's tree in creation order; 0 is its root
  EventBody body;
  friend bool operator==(const Event&, const Event&) = default;
};

}  // namespace halfsent
