#include "harness/cli/drill.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <vector>

#include "harness/cli/campaign.h"
#include "harness/cli/stored_run.h"
#include "harness/contract/operations.h"
#include "harness/core/text.h"
#include "harness/world/execution.h"
#include "reports/operations_json.h"
#include "reports/terminal.h"

namespace halfsent {
namespace {

namespace fs = std::filesystem;

void say(const std::string& text) { std::fwrite(text.data(), 1, text.size(), stdout); }

// The first of these that exists, or empty.
fs::path first_file(const std::string& name, std::initializer_list<const char*> folders) {
  for (const char* folder : folders) {
    const fs::path file = fs::path(folder) / (name + ".toml");
    std::error_code ignored;
    if (fs::is_regular_file(file, ignored)) return file;
  }
  return {};
}

std::vector<fs::path> all_systems(const Scenario& drill) {
  std::vector<fs::path> systems = drill.systems;
  systems.insert(systems.end(), drill.failing_systems.begin(), drill.failing_systems.end());
  return systems;
}

// A system of the drill by its name, else a file.
fs::path system_file(const Scenario& drill, const std::string& word) {
  const std::vector<fs::path> systems = all_systems(drill);
  const auto named = std::find_if(systems.begin(), systems.end(), [&](const fs::path& f) { return f.stem() == word; });
  return named == systems.end() ? fs::path(word) : *named;
}

// Executes one plan, and what violates once more.
Result<Execution> execute(Runner& runner, const Scenario& scenario, const Plan& plan, const fs::path& out,
                          const std::string& name) {
  Result<Execution> execution = runner.run(plan);
  if (!execution) return execution;
  if (Result<void> stored = store(out, name, *execution); !stored) return stored.error();
  if (exit_code(judge(execution->history, plan, terms_of(scenario, plan))) != ExitCode::violated) return execution;
  const Result<Execution> again = runner.run(plan);
  if (!again) return again;
  if (digest(again->history) == digest(execution->history)) return execution;
  if (Result<void> stored = store(out, name + ".again", *again); !stored) return stored.error();
  return Error{.code = ExitCode::diverged,
               .message = fmt::format("a second execution went another way; both are in {} ({} and {}.again)",
                                      out.string(), name, name),
               .mend = "compare the two histories: what differs first is not under control"};
}

ExitCode run_on_system(const Scenario& scenario, const CommonOptions& common) {
  for (const DrillRun& run : scenario.runs)
    if (Result<void> known = check_actors(run.plan, scenario); !known) return report(known.error());
  const Result<fs::path> out = make_run_folder(common.out, scenario.name, scenario.runs.front().plan.seed);
  if (!out) return report(out.error());
  Result<std::unique_ptr<Runner>> runner = Runner::create(scenario);
  if (!runner) return report(runner.error());
  ExitCode code = ExitCode::held;
  for (std::size_t i = 0; i < scenario.runs.size() && interrupted_by == 0; ++i) {
    const Plan& plan = scenario.runs[i].plan;
    const std::string name = fmt::format("run-{}", i + 1);
    const Result<Execution> execution = execute(**runner, scenario, plan, *out, name);
    if (!execution) return report(execution.error());
    const ContractTerms terms = terms_of(scenario, plan);
    const Verdict verdict = judge(execution->history, plan, terms);
    const Operations seen = watch(execution->history, terms);
    if (Result<void> stored = write_text(*out / (name + ".operations.json"), operations_json(seen)); !stored)
      return report(stored.error());
    say("\n");
    if (exit_code(verdict) != ExitCode::held && !scenario.expect_violation)
      say(story(execution->history, verdict, common.style) + "\n");
    say(verdict_block(verdict, plan, common.style));
    say(operations_block(seen, terms.objectives, common.style));
    code = more_serious(code, exit_code(verdict));
  }
  return code;
}

// What the drill's outcome on this system says of the drill.
ExitCode as_it_must_be(const Scenario& scenario, ExitCode code) {
  if (!scenario.expect_violation) return code;
  if (code == ExitCode::violated) {
    say("\nviolated, as it must be\n");
    return ExitCode::held;
  }
  if (code != ExitCode::held) return code;
  return report({.code = ExitCode::harness_fault,
                 .message = fmt::format("{} must fail, and held: this drill shows nothing", scenario.name),
                 .mend = "the drill lists a system under fails that does what is right here"});
}

}  // namespace

ExitCode run_drill(const Scenario& drill, const std::string& system, const CommonOptions& common) {
  const std::vector<fs::path> systems =
      system.empty() ? all_systems(drill) : std::vector<fs::path>{system_file(drill, system)};
  if (!drill.description.empty()) say(printable(drill.description) + "\n");
  ExitCode code = ExitCode::held;
  for (const fs::path& file : systems) {
    Result<Scenario> scenario = load_scenario(drill.file, file);
    if (!scenario) return report(scenario.error());
    scenario->without_invariants = drill.without_invariants;
    say(fmt::format("\n{}, which must {}\n", printable(scenario->name), scenario->expect_violation ? "fail" : "hold"));
    code = more_serious(code, as_it_must_be(*scenario, run_on_system(*scenario, common)));
    if (interrupted_by != 0) return static_cast<ExitCode>(128 + static_cast<int>(interrupted_by));
  }
  return code;
}

Result<Scenario> find_drill(const std::string& name, const fs::path& given) {
  const std::size_t dot = name.rfind('.');
  const std::string first = name.substr(0, dot);
  const fs::path file = given.empty() && dot != std::string::npos
                            ? first_file(first, {"scenarios/drills", "drills", "scenarios", "."})
                            : given;
  if (dot == std::string::npos || file.empty())
    return Error{.code = ExitCode::usage,
                 .message = fmt::format("there is no scenarios/{0}.toml, no {0}.toml and no drill of that name here",
                                        printable(name)),
                 .mend = "name the file with --scenario"};
  const Result<Scenario> drill = load_scenario(file);
  if (!drill || drill->name == name) return drill;
  const std::string word = name.substr(dot + 1);
  fs::path system = system_file(*drill, word);
  if (system == word) system = first_file(word, {"scenarios", "."});
  if (system.empty() || drill->runs.empty())
    return Error{.code = ExitCode::usage,
                 .message = fmt::format("{} is no drill on a system {}", printable(file.string()), printable(word)),
                 .mend = fmt::format("put {}.toml into scenarios/ or here", printable(word))};
  return load_scenario(file, system);
}

}  // namespace halfsent
