// The contract as pure functions of a history: each invariant is one file and one line of the table.
#pragma once

#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/core/error.h"
#include "harness/core/history.h"
#include "harness/core/objectives.h"
#include "harness/core/plan.h"
#include "harness/core/verdict.h"

namespace halfsent {

// What the scenario promises, as far as judging needs it.
struct ContractTerms {
  std::vector<std::string> keys;  // the jobs that must be settled; empty: every key the ledger ever showed
  bool downstream_honours_key = true;
  enum class OnDoubt { unstated, retry, flag } on_doubt = OnDoubt::unstated;
  std::optional<int> max_attempts = {};     // claims after which a job must be flagged; none: not stated
  std::set<std::string> failed_words = {};  // flagged states that say "was not delivered"; empty: not told
  std::vector<std::string> eligible = {};   // the jobs that must come to be, by slot or key; empty: not stated
  Nanoseconds lease = std::chrono::seconds{60};
  Nanoseconds recovery = std::chrono::seconds{120};  // for how long an abandoned lease may block a job after its expiry
  Nanoseconds quiet = std::chrono::minutes{3};
  std::set<std::string> without = {};  // names of invariants that are not to be judged
  Objectives objectives = {};
  Expectations expectations = {};
};

struct JobFacts;  // harness/contract/job_facts.h: what a history says about one job

// An invariant looks at one job. Returns true and fills kind, why and evidence of `verdict` when it is violated.
struct Invariant {
  std::string_view name;
  std::string_view summary;
  VerdictKind kind;
  bool (*violated)(const JobFacts& job, const ContractTerms& terms, KeyVerdict& verdict);
};
// In order of precedence: the first that is violated is the verdict on the job, the others become notes.
std::span<const Invariant> invariant_table();

struct RunFacts;  // harness/contract/run_facts.h: what a history says about the run as a whole

struct RunFindings {
  std::vector<RunViolation> broken = {};  // at most one for each key; without the invariant's name
  std::string not_judged = {};            // why it was not, or not in full; empty: it was
};

// An invariant of the run looks at all jobs at once.
struct RunInvariant {
  std::string_view name;
  std::string_view summary;
  RunFindings (*judge)(const RunFacts& run, const ContractTerms& terms);
};
std::span<const RunInvariant> run_invariant_table();

// The names of both tables, in their order.
std::vector<std::string> invariant_names();

// Judges a whole history. Pure; never throws on any history that parses.
// - An execution that did not end by itself (Finished other than drained, horizon, all exited) is inconclusive. What
//   happened in it is judged; what is absent from it is not: a job that was still open is left out of `keys`.
// - Where the plan keeps everyone of a kind away (restart never, or so late), what is absent is not judged either.
// - A fault counts as planned when it has an anchor, or is `refuse`; faults that only set a condition (skew, step,
//   restart without an anchor) count when they fired.
Verdict judge(const History& history, const Plan& plan, const ContractTerms& terms);

// One exit code out of a verdict, by the precedence 3, 1, 5, 7, 4, 6. A verdict on no job at all is not_reached.
ExitCode exit_code(const Verdict& verdict);

// The one of two that a command reports when both apply: 3, 2, 1, 5, 7, 4, 6, then held, then skipped.
ExitCode more_serious(ExitCode a, ExitCode b);

}  // namespace halfsent
