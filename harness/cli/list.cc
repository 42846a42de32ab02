#include "harness/cli/list.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <string_view>
#include <utility>

#include "harness/cli/commands.h"
#include "harness/cli/selfcheck.h"
#include "harness/scenario/scenario.h"
#include "reports/listing.h"

namespace halfsent {
namespace {

namespace fs = std::filesystem;

void say(const std::string& text) { std::fwrite(text.data(), 1, text.size(), stdout); }

Result<std::vector<fs::path>> scenario_files(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
    if (it->path().extension() == ".toml") files.push_back(it->path());
  if (error)
    return Error{.code = ExitCode::usage,
                 .message = fmt::format("cannot look into {}: {}", folder.string(), error.message()),
                 .mend = "name the folder of your scenarios: halfsent list scenarios FOLDER"};
  if (files.empty())
    return Error{.code = ExitCode::usage,
                 .message = fmt::format("there is no scenario (*.toml) in {}", folder.string()),
                 .mend = "name the folder of your scenarios: halfsent list scenarios FOLDER"};
  std::error_code no_drills;
  for (fs::directory_iterator it(folder / "drills", no_drills), end; !no_drills && it != end; it.increment(no_drills))
    if (it->path().extension() == ".toml") files.push_back(it->path());
  std::sort(files.begin(), files.end());
  return files;
}

ExitCode list_scenarios(const ListOptions& options, const Style& style) {
  const Result<std::vector<fs::path>> files = scenario_files(options.folder);
  if (!files) {
    if (!options.topic.empty()) return report(files.error());
    say(scenario_list(options.folder.string(), {}, style));
    return ExitCode::held;
  }
  ExitCode code = ExitCode::held;
  std::vector<ListedScenario> rows;
  for (const fs::path& file : *files) {
    const Result<Scenario> scenario = load_scenario(file);
    if (scenario && !scenario->runs.empty()) {
      rows.push_back({fs::relative(file, options.folder).replace_extension().string(), "drill", scenario->description});
    } else if (scenario) {
      rows.push_back({scenario->name, scenario->expect_violation ? "violated" : "held", scenario->description});
    } else {
      rows.push_back({file.filename().string(), "cannot be read", scenario.error().to_string()});
      code = ExitCode::usage;
    }
  }
  say(scenario_list(options.folder.string(), rows, style));
  return code;
}

ExitCode list_defects(const ListOptions& options, const Style& style) {
  const Result<DefectTable> found = seeded_defects({});
  if (!found && !options.topic.empty()) return report(found.error());
  if (!found) {
    say(defect_list({}, style));
    return ExitCode::held;
  }
  std::vector<ListedDefect> rows;
  for (const SeededDefect& defect : found->defects) rows.push_back({defect.id, defect.name, defect.part, defect.what});
  say(defect_list(rows, style));
  return ExitCode::held;
}

struct Topic {
  std::string_view name;
  ExitCode (*list)(const ListOptions& options, const Style& style);
};

template <std::string (*text)(const Style&)>
ExitCode list_table(const ListOptions&, const Style& style) {
  say(text(style));
  return ExitCode::held;
}

constexpr std::array topics = {
    Topic{"scenarios", list_scenarios},
    Topic{"faults", list_table<fault_list>},
    Topic{"invariants", list_table<invariant_list>},
    Topic{"defects", list_defects},
    Topic{"strategies", list_table<strategy_list>},
    Topic{"boundaries", list_table<boundary_list>},
};

}  // namespace

std::vector<std::string> list_topics() {
  std::vector<std::string> names;
  for (const Topic& topic : topics) names.emplace_back(topic.name);
  return names;
}

ExitCode list_command(const ListOptions& options, const Style& style) {
  ExitCode code = ExitCode::held;
  bool first = true;
  for (const Topic& topic : topics) {
    if (!options.topic.empty() && options.topic != topic.name) continue;
    if (!std::exchange(first, false)) say("\n");
    const ExitCode said = topic.list(options, style);
    if (said != ExitCode::held) code = said;
  }
  return code;
}

}  // namespace halfsent
