#include "harness/cli/regressions.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>

#include "harness/cli/commands.h"
#include "harness/cli/stored_run.h"
#include "harness/core/text.h"

namespace halfsent {
namespace {

namespace fs = std::filesystem;

fs::path folder_of(const Scenario& scenario) { return scenario.file.parent_path() / "regressions" / scenario.name; }

// One line that says what went wrong.
std::string what_of(const Verdict& verdict) {
  for (const KeyVerdict& key : verdict.keys)
    if (is_violation(key.kind)) return fmt::format("{} {}: {}", to_string(key.kind), quote_key(key.key), key.why);
  for (const RunViolation& broken : verdict.broken) return fmt::format("{}: {}", broken.invariant, broken.why);
  return "nothing";
}

Result<Regression> load_one(const Scenario& scenario, const fs::path& file) {
  const Result<std::string> text = read_text(file);
  if (!text) return text.error();
  Result<Plan> plan = parse_plan(*text);
  Error error = plan ? Error{} : plan.error();
  if (plan && plan->scenario != scenario.name)
    error = {.code = ExitCode::usage,
             .message = fmt::format("this plan is for the scenario {}", printable(plan->scenario)),
             .mend = "regressions/NAME holds plans for NAME: move it"};
  if (plan && error.message.empty())
    if (Result<void> known = check_actors(*plan, scenario); !known) error = known.error();
  if (error.message.empty()) return Regression{.name = file.filename().string(), .plan = std::move(*plan)};
  error.file = file.string();
  return error;
}

}  // namespace

Result<std::vector<Regression>> load_regressions(const Scenario& scenario) {
  std::vector<fs::path> files;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder_of(scenario), error))
    if (entry.path().extension() == ".plan") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  std::vector<Regression> regressions;
  for (const fs::path& file : files) {
    Result<Regression> regression = load_one(scenario, file);
    if (!regression) return regression.error();
    regressions.push_back(std::move(*regression));
  }
  return regressions;
}

Result<fs::path> save_regression(const Scenario& scenario, const Plan& plan, const Verdict& verdict) {
  const std::string text = to_string(plan);
  const fs::path folder = folder_of(scenario);
  std::error_code error;
  fs::create_directories(folder, error);
  if (error)
    return Error{.message = fmt::format("cannot make {}: {}", folder.string(), error.message()),
                 .mend = "the plan is printed above: keep it elsewhere"};
  const fs::path file = folder / fmt::format("{:016x}.plan", XXH64(text.data(), text.size(), 0));
  const std::string comment = fmt::format("# {}\n", printable(what_of(verdict)));
  // A fault a line, unless a key holds what stands between them.
  const std::string lines = comment + replace_all(text, "; ", "\n") + "\n";
  const Result<Plan> read = parse_plan(lines);
  const bool same = read && *read == plan;
  if (Result<void> written = write_text(file, same ? lines : comment + text + "\n"); !written) return written.error();
  return file;
}

}  // namespace halfsent
