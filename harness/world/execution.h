// One execution of one plan in a world of its own: the top of the engine.
#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "harness/core/boundary.h"
#include "harness/core/error.h"
#include "harness/core/history.h"
#include "harness/core/plan.h"
#include "harness/scenario/scenario.h"

namespace halfsent {

struct WorkerOutput {
  std::string actor;
  int incarnation = 1;
  std::string text;  // stdout and stderr together
  bool truncated = false;
};

struct Execution {
  History history;
  std::vector<WorkerOutput> output;
  std::uint64_t stops = 0;  // system calls answered
  int forked = 0;           // incarnations that were forked from a template of their actor; the others were started
};

// How incarnations come to life.
enum class StartMode {
  execute,  // each executes its program
  fork,     // from a template of its actor, where that is possible and the scenario allows it: the same, and faster
};

struct ExecutionOptions {
  bool probe = true;  // off: the ledger is not looked at (to prove that looking does not disturb)
  // CPU time that a thread may use between two system calls that matter; more is the end of the run ("spins").
  std::chrono::milliseconds cpu_limit = std::chrono::seconds{10};
  int cpu = -1;  // the harness and its world share one CPU; -1: the first that we may use
};

// Runs executions of one scenario, one after another, in a sandbox that it keeps. Must be created and used on the main
// thread of a single-threaded process: namespaces are entered and left, and children die with the creating thread.
class Runner {
 public:
  // Errors: scenario errors (a missing command: ExitCode::usage), environment faults (ExitCode::harness_fault).
  static Result<std::unique_ptr<Runner>> create(Scenario scenario, ExecutionOptions options = {});
  virtual ~Runner() = default;

  // Runs the plan. Names are resolved in the histories of the plan's parents, which are run first (and kept: a sweep
  // runs the clean parent once). A fault that is never reached is not in the history; the verdict says so. Errors:
  // divergence from a parent (ExitCode::diverged), environment faults.
  virtual Result<Execution> run(const Plan& plan, StartMode start = StartMode::execute) = 0;

  // The world's folder as it was left by the last execution, until the next one (the harness's path).
  [[nodiscard]] virtual std::filesystem::path world_folder() const = 0;
};

}  // namespace halfsent
