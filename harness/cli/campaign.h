// A campaign: many executions of one scenario, in parallel processes, each history on disk before it is judged.
//
// Every job is a process of its own with a sandbox of its own; the units of the strategy are dealt out to the jobs in
// turn, and all jobs derive them from equal executions without faults. What they find does not depend on their number.
// Threads: one. The caller's process must be single-threaded.
#pragma once

#include <csignal>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "harness/cli/record.h"
#include "harness/cli/tally.h"
#include "harness/contract/judge.h"
#include "harness/core/error.h"
#include "harness/scenario/scenario.h"

namespace halfsent {

// A plan that is run first in each campaign, since it once failed.
struct Regression {
  std::string name;  // of its file
  Plan plan;
};

struct CampaignOptions {
  int jobs = 1;
  std::filesystem::path out;  // exists; every execution leaves NAME.history.jsonl and NAME.output.txt here
  bool keep_passes = false;   // otherwise the files of executions that passed are removed once they are judged
  bool stop_at_first_violation = false;  // first in the order of the units: all before it are executed
  std::vector<Regression> regressions = {};
  const StoredResults* resumed = nullptr;  // what `out` holds of it already
  std::optional<double> budget_s = {};     // real time; then no more is begun
  std::optional<int> max_executions = {};
  std::function<void(int done, int total)> progress = {};  // units
};

ContractTerms terms_of(const Scenario& scenario);
// Those of one plan: with what a drill expects of it, where the plan is one of its own.
ContractTerms terms_of(const Scenario& scenario, const Plan& plan);

// The spec of a campaign of this scenario, with the faults that it lists.
CampaignSpec spec_of(const Scenario& scenario, std::uint64_t seed, const std::string& strategy = "sweep");

// Runs the units of the spec's shard. Errors: what keeps the execution without faults from running, or the results from
// being written.
Result<CampaignResult> run_campaign(const Scenario& scenario, const CampaignSpec& spec, const CampaignOptions& options);

// Adds a line to the results of a campaign that is over.
Result<void> add_record(const std::filesystem::path& folder, const Record& record);

// Set by signal handlers: the campaign ends with what is there.
extern volatile std::sig_atomic_t interrupted_by;

}  // namespace halfsent
