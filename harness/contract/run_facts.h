// What a history says about the run as a whole: rows of all jobs, who lived when, and what the plan disturbed for how
// long.
//
// Pure. Points into the history, the plan and the facts it was gathered from, which must outlive it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "harness/contract/row_changes.h"

namespace halfsent {

// A fault of the plan, from when it struck until it was over: a hold until its release, a death until the actor was
// there again (at once where it never came back), a fault with a duration that long. The largest time: never.
struct Disturbance {
  const Event* fired = nullptr;
  const Fault* fault = nullptr;
  Nanoseconds until{0};
};

struct RunFacts {
  const History* history = nullptr;
  const Plan* plan = nullptr;
  const Facts* facts = nullptr;
  std::map<std::string, std::vector<RowChange>> rows;  // of each job that had a row
  std::vector<Disturbance> disturbances;               // in the order in which they struck
  std::map<Life, const Event*> ended;                  // of the first process of its tree
  std::map<Life, Seq> last_step;                       // its last stop or wait

  const Event* finished = nullptr;
  Nanoseconds end{0};
  bool complete = false;       // what is absent may be judged
  std::string why_incomplete;  // "the execution did not run its course"

  // Columns that the ledger showed at least once.
  bool has_attempts = false;
  bool has_lease = false;
  bool has_cohort = false;
  bool has_authority = false;
  bool has_due = false;

  // A skew or step of the plan struck the actor: what it takes for expired or due says nothing about the system.
  [[nodiscard]] bool clock_is_off(const std::string& actor) const;

  // Whether any process of it was still there after the event.
  [[nodiscard]] bool is_alive_after(const Life& life, Seq seq) const;

  // Until when something may take that begins at `from` and is allowed so long, when what the plan disturbs meanwhile
  // does not count: after each disturbance it may take that long again. Clocks that are off are given the time by which
  // they are off. The largest time: for ever.
  [[nodiscard]] Nanoseconds deadline(Nanoseconds from, Nanoseconds allowed) const;

  // Something of the plan was in force at some time in [from, until].
  [[nodiscard]] bool is_disturbed(Nanoseconds from, Nanoseconds until) const;
};

// `why_incomplete` is not empty when what is absent must not be judged.
RunFacts gather_run_facts(const History& history, const Plan& plan, const Facts& facts, std::string why_incomplete);

// Whose doing a change was, and when: "worker-1 at 0.004 s".
std::string doer_and_when(const RowChange& change);
std::string name_of(const Life& life);

}  // namespace halfsent
