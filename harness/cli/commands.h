// What the commands do. Each returns the exit code of the process; talk goes to stderr, results to stdout.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "harness/core/error.h"
#include "harness/core/plan.h"
#include "harness/scenario/scenario.h"
#include "reports/terminal.h"

namespace halfsent {

struct CommonOptions {
  Style style;  // of what goes to stdout
  std::filesystem::path out = "halfsent-runs";
  int jobs = 0;  // 0: one for each CPU that we may use
};

struct RunOptions {
  std::filesystem::path scenario;
  std::string plan;    // text or the name of a file; empty: sweep, or the plans of a drill
  std::string system;  // of a drill: a file or a name; empty: all that it names
  // "kill,hold" or "all": which faults; without it those that the scenario lists. "2": how many in one plan.
  std::vector<std::string> faults;
  std::optional<int> switches;     // preemptions in one plan
  std::string strategy = "sweep";  // of strategy_table()
  std::optional<int> plans;        // random: how many
  std::string shard;               // "2/8"; empty: what the environment says
  std::string budget;              // a duration of real time; empty: none
  std::optional<int> max_executions;
  std::filesystem::path resume;  // the folder of a campaign to go on with
  std::string shrink = "10s";    // for how long a counterexample is made smaller
  bool save = false;             // keep it as a regression plan
  std::uint64_t seed = 1;
  bool keep_passes = false;
  std::vector<std::string> without;  // names of invariants that are not to be judged
  bool twin = true;                  // a sweep that holds must see the naive twin fail
};
ExitCode run_command(const RunOptions& options, const CommonOptions& common);

struct ReplayOptions {
  std::string plan;                // text or the name of a file
  std::filesystem::path scenario;  // empty: found by the plan's scenario name in `scenarios/` and here
  std::vector<std::string> without;
  int repeat = 1;
};
ExitCode replay_command(const ReplayOptions& options, const CommonOptions& common);

ExitCode windows_command(const std::filesystem::path& scenario, const CommonOptions& common);
ExitCode doctor_command(const CommonOptions& common);

// Every actor that the plan names is one of the scenario. Errors: ExitCode::usage.
Result<void> check_actors(const Plan& plan, const Scenario& scenario);

// How many worlds may run at once.
int job_count(const CommonOptions& common);

// Prints an error as one message on stderr and gives its exit code.
ExitCode report(const Error& error);

}  // namespace halfsent
