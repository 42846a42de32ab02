// A campaign: many executions of one scenario, in parallel processes, each history on disk before it is judged.
//
// Every job is a process of its own with a sandbox of its own; job i of n takes the cells i, i + n, i + 2n ... of a
// list that all of them derive from the same clean execution, and with bounds beyond one fault everything below them.
// What they find does not depend on n. Threads: one. The caller's process must be single-threaded.
#pragma once

#include <csignal>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/contract/judge.h"
#include "harness/core/error.h"
#include "harness/core/history.h"
#include "harness/explore/exhaustive.h"
#include "harness/explore/strategy.h"
#include "harness/scenario/scenario.h"

namespace halfsent {

struct CampaignOptions {
  std::uint64_t seed = 1;
  int jobs = 1;
  std::filesystem::path out;  // exists; every execution leaves NNNN.history.jsonl and NNNN.output.txt here
  bool keep_passes = false;   // otherwise the files of executions that passed are removed once they are judged
  // Beyond one fault: also the children of each execution that held, in its own history, until nothing is left.
  Bounds bounds = {.faults = 1, .switches = 0};
  bool exhaustive = false;
  bool stop_at_first_violation = false;  // first in the order of the sweep: all before it are executed
  std::function<void(int done, int total)> progress = {};
};

// One cell with what came of it.
struct CellResult {
  SweepCell cell;
  Plan plan;
  Verdict verdict;
  std::optional<Error> error;     // the execution could not be judged: environment, divergence
  std::filesystem::path history;  // empty when it was removed
};

// What became of plans with more than one window.
struct DeeperResult {
  std::map<std::size_t, int> plans;  // by the number of windows that they strike
  int held = 0;
  int childless = 0;              // plans that could have children and have none, since they did not hold
  std::vector<CellResult> cells;  // those that did not hold, in the order of their names
};

struct CampaignResult {
  History clean;
  Verdict clean_verdict;
  SweepPlan sweep;
  std::vector<CellResult> cells;  // in the order of the sweep; those that were not run are left out
  DeeperResult deeper;
  bool interrupted = false;
  int executions = 0;  // all: parents and confirmations too
};

ContractTerms terms_of(const Scenario& scenario);
// Those of one plan: with what a drill expects of it, where the plan is one of its own.
ContractTerms terms_of(const Scenario& scenario, const Plan& plan);

// Sweeps every window with every fault of the scenario. Errors: what keeps the clean execution from running.
Result<CampaignResult> run_sweep(const Scenario& scenario, const CampaignOptions& options);

// Set by signal handlers: the campaign ends with what is there.
extern volatile std::sig_atomic_t interrupted_by;

}  // namespace halfsent
