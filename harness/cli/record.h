// What a campaign writes down: results.jsonl in its folder, one JSON object a line. The first line is its spec; after
// it come, in the order in which they were done, the execution without faults, each plan with its verdict, each unit
// that is finished with all that is below it, and what the naive twin showed. A job tells its campaign the same lines.
//
// From these lines and clean.history.jsonl everything that a campaign prints can be made again: by `run --resume` and
// by `merge`, without the scenario and on another machine.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "harness/core/error.h"
#include "harness/core/verdict.h"
#include "harness/explore/shard.h"
#include "harness/explore/strategy.h"

namespace halfsent {

inline constexpr const char* results_name = "results.jsonl";

// What a campaign is. Parts with equal specs but for file and shard are parts of one campaign.
struct CampaignSpec {
  std::string scenario;  // its name
  std::string file = {};
  std::string digest = {};  // xxh64 of the scenario's file, 16 hex digits
  std::string strategy = "sweep";
  StrategyOptions options;
  std::vector<std::string> without = {};  // invariants that are not judged
  bool expect_violation = false;
  Shard shard = {};
};

// The execution without faults.
struct CleanRecord {
  std::string digest;  // of its history
  Verdict verdict;
};

// One plan.
struct PlanRecord {
  std::size_t unit = 0;
  std::string name;             // of its files in the campaign's folder
  std::string regression = {};  // the file it was kept in; it is no unit's then
  std::string plan;
  std::size_t windows = 1;          // that it strikes
  int runs = 1;                     // with the second that confirms
  Verdict verdict = {};             // of a plan that held only what is counted
  std::optional<Error> error = {};  // it could not be judged: environment, divergence
};

// A unit and everything below it is done.
struct UnitRecord {
  std::size_t unit = 0;
  int childless = 0;  // plans that could have children and have none, since they did not hold
};

// That the campaign would notice a wrong system.
struct TwinRecord {
  std::string text;
  ExitCode code = ExitCode::held;
};

// A job cannot go on. Told, never kept.
struct FailureRecord {
  Error error;
};

using Record = std::variant<CampaignSpec, CleanRecord, PlanRecord, UnitRecord, TwinRecord, FailureRecord>;

// Under which name the files of a unit's plan are stored; those below it have its name, a point and another number.
std::string unit_name(std::size_t unit);

// One line without its end.
std::string to_line(const Record& record);
// Errors: ExitCode::usage, without a position.
Result<Record> parse_record(std::string_view line);

// All complete lines of a campaign's folder. What follows the last end of a line was cut off: `complete_bytes` is
// where.
struct StoredResults {
  CampaignSpec spec;
  std::vector<Record> records;
  std::uintmax_t complete_bytes = 0;
};
// Errors: ExitCode::usage: no results there, or a line that cannot be read, with file and line.
Result<StoredResults> load_results(const std::filesystem::path& folder);

// Whether two parts belong together; otherwise what differs first, for a reader.
std::string difference(const CampaignSpec& a, const CampaignSpec& b);

}  // namespace halfsent
