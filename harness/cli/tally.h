// What a campaign has come to, counted up from its records, in any order. It keeps what did not hold; of what held
// below the units only numbers, so that a long campaign needs no more memory than a short one.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "harness/cli/record.h"
#include "harness/core/history.h"
#include "harness/explore/strategy.h"

namespace halfsent {

// One plan with what came of it.
struct CellResult {
  SweepCell cell;  // of a unit
  Plan plan;
  Verdict verdict;
  std::optional<Error> error;     // the execution could not be judged: environment, divergence
  std::filesystem::path history;  // of a plan that did not hold
  std::string regression = {};
};
ExitCode code_of(const CellResult& cell);

// What became of plans with more than one window.
struct DeeperResult {
  std::map<std::size_t, int> plans;  // by the number of windows that they strike
  int held = 0;
  int childless = 0;              // plans that could have children and have none, since they did not hold
  std::vector<CellResult> cells;  // those that did not hold, in the order of their names
};

struct CampaignResult {
  CampaignSpec spec;
  History clean;
  Verdict clean_verdict;
  SweepPlan sweep;  // all units, those of other shards too
  std::vector<CellResult> regressions;
  std::vector<CellResult> cells;  // in the order of the units; those that were not run are left out
  DeeperResult deeper;
  int units = 0;       // that were to be done
  int units_done = 0;  // with all that is below them
  bool interrupted = false;
  std::string capped = {};  // the cap that was hit; empty: none
  int executions = 0;       // plans, and those that confirm
  std::optional<TwinRecord> twin = {};
};

// The gravest of all there is. A unit that is not done makes it incomplete.
ExitCode code_of(const CampaignResult& campaign);

class Tally {
 public:
  explicit Tally(CampaignSpec spec) { result_.spec = std::move(spec); }

  // `folder`: where the histories are that the record is about.
  void take(const Record& record, const std::filesystem::path& folder);

  // A unit that has all its records.
  [[nodiscard]] bool is_done(std::size_t unit) const { return done_.contains(unit); }
  // A plan that has its record; of units that are done only their first.
  [[nodiscard]] bool knows(const std::string& name) const { return names_.contains(name); }
  [[nodiscard]] int units_done() const { return static_cast<int>(done_.size()); }
  [[nodiscard]] int executions() const { return result_.executions; }
  [[nodiscard]] const std::optional<CleanRecord>& clean() const { return clean_; }
  // The first unit in the order of the strategy whose own plan violates, if all before it are known.
  [[nodiscard]] bool first_violation_is_known() const;

  // REQUIRES: the record of the execution without faults was taken; `clean` is its history.
  CampaignResult finish(History clean);

 private:
  void take_plan(const PlanRecord& record, const std::filesystem::path& folder);

  CampaignResult result_;
  std::optional<CleanRecord> clean_;
  std::map<std::size_t, CellResult> cells_;
  std::map<std::string, CellResult> deeper_;  // those that did not hold
  std::map<std::string, CellResult> regressions_;
  std::map<std::size_t, int> done_;  // units, and how many plans below them have no children
  std::set<std::string> names_;
  std::optional<std::size_t> first_violation_;
};

}  // namespace halfsent
