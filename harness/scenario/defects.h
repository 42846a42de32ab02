// The table of seeded defects of a reference system, by which the harness is checked: one scenario comes of each row.
//
// TOML. At the top: scenarios = "../../scenarios" (the folder of the bases), actor = "worker" (whose command gets
// `options`), job = "INSERT ... '{n}' ..." (one job of several; {n} counts from first_job), key = "{n}:2026-W33" (its
// key), clear = "DELETE FROM ..." (before jobs of a row's own). Then one [[defect]] for each row;
// sut/polling/defects.toml says what its keys mean. Unknown keys are errors.
//
// Values own all they hold. Errors: ExitCode::usage with file, line, column and the mend.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "harness/core/error.h"
#include "harness/core/plan.h"
#include "harness/scenario/scenario.h"

namespace halfsent {

struct SeededDefect {
  std::string id = {};                 // "M01"
  std::string part = {};               // "Claim"
  std::string name = {};               // of the switch: "select-then-update"
  std::string what = {};               // one sentence
  std::filesystem::path base = {};     // the scenario file it is made from, absolute once the table is read
  std::vector<FaultKind> faults = {};  // of the sweep; none: the execution without faults
  std::vector<std::string> options = {};
  std::set<std::string> verdicts = {};  // names of verdicts on jobs and of invariants of the run
  std::string needs = {};               // the invariant without which it would be missed; empty: not said
  std::string plan = {};  // faults under which it shows, as in a plan without its scenario; empty: not said
  bool shows_without_faults = false;
  std::optional<int> workers = {};
  std::optional<int> jobs = {};
  std::string setup_sql = {};  // in place of the jobs; empty: those of base, or `jobs` of them
  std::optional<int> failover_loses = {};
  std::optional<Nanoseconds> key_lag = {};
  std::optional<int> known_key_status = {};
  std::optional<int> accepted_status = {};
  int line = 0;  // in the table
};

struct DefectTable {
  std::filesystem::path file = {};  // absolute
  std::string scenarios = {};       // relative to the table's folder
  std::string actor = {};
  std::string job = {};
  std::string key = {};
  std::string clear = {};
  int first_job = 1;
  std::vector<SeededDefect> defects = {};  // in the order of the file
};

// `verdict_names`: every name that `verdicts` and `needs` may use.
Result<DefectTable> load_defects(const std::filesystem::path& file, const std::vector<std::string>& verdict_names);

// The base scenario with the row's changes and, when `with_defect`, its switch in every command. Its name is
// "selfcheck.ID".
Result<Scenario> scenario_of(const DefectTable& table, const SeededDefect& defect, bool with_defect);

// By its id or its switch, of which the first has several; null when there is none.
const SeededDefect* find_defect(const DefectTable& table, const std::string& word);

}  // namespace halfsent
