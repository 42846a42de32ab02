#include "harness/cli/commands.h"

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "harness/cli/campaign.h"
#include "harness/cli/campaign_tell.h"
#include "harness/cli/drill.h"
#include "harness/cli/explore_command.h"
#include "harness/cli/selfcheck.h"
#include "harness/cli/stored_run.h"
#include "harness/core/text.h"
#include "harness/process/doctor.h"
#include "harness/world/execution.h"
#include "reports/operations_json.h"

namespace halfsent {
namespace {

namespace fs = std::filesystem;

// A plan given as text, or as the name of a file that holds it.
Result<Plan> read_plan(const std::string& given) {
  std::error_code ignored;
  const bool is_file =
      given.find('\n') == std::string::npos && given.size() < 4096 && fs::is_regular_file(given, ignored);
  if (!is_file) return parse_plan(given);
  Result<std::string> text = read_text(given);
  if (!text) return text.error();
  Result<Plan> plan = parse_plan(*text);
  if (plan) return plan;
  Error error = plan.error();
  error.file = given;
  return error;
}

// The exit code of 128 + signal when a signal ended the campaign.
ExitCode interrupted_code() { return static_cast<ExitCode>(128 + static_cast<int>(interrupted_by)); }

// The whole of what there is to say about one execution.
void tell_execution(const Execution& execution, const Verdict& verdict, const ContractTerms& terms, const Plan& plan,
                    const CommonOptions& common) {
  say(story(execution.history, verdict, common.style));
  say("\n" + verdict_block(verdict, plan, common.style));
  say(operations_block(watch(execution.history, terms), terms.objectives, common.style));
  if (exit_code(verdict) == ExitCode::not_reached && !plan.faults.empty()) {
    say("The boundaries that were reached:\n");
    for (const Boundary& boundary : name_boundaries(execution.history))
      say(fmt::format("  {} {}\n", boundary.actor, printable(to_string(boundary))));
  }
  if (exit_code(verdict) != ExitCode::inconclusive) return;
  for (const WorkerOutput& output : execution.output)
    if (!output.text.empty()) say(worker_output(output.actor, output.incarnation, output.text, 10, common.style));
}

ExitCode run_one(const Scenario& scenario, const Plan& plan, const fs::path& out, const CommonOptions& common) {
  Result<std::unique_ptr<Runner>> runner = Runner::create(scenario);
  if (!runner) return report(runner.error());
  const Result<Execution> execution = (*runner)->run(plan);
  if (!execution) return report(execution.error());
  if (Result<void> stored = store(out, "run", *execution); !stored) return report(stored.error());
  const ContractTerms terms = terms_of(scenario, plan);
  const Verdict verdict = judge(execution->history, plan, terms);
  if (Result<void> stored = write_text(out / "run.operations.json", operations_json(watch(execution->history, terms)));
      !stored)
    return report(stored.error());
  tell_execution(*execution, verdict, terms, plan, common);
  talk(fmt::format("history: {}\n", (out / "run.history.jsonl").string()));
  if (exit_code(verdict) != ExitCode::held) talk(replay_line(plan));
  return exit_code(verdict);
}

Result<Scenario> find_scenario(const Plan& plan, const fs::path& given) {
  if (is_selfcheck(plan.scenario)) return find_selfcheck(plan.scenario, given);
  if (!given.empty()) {
    Result<Scenario> scenario = load_scenario(given);
    return scenario && !scenario->runs.empty() ? find_drill(plan.scenario, given) : scenario;
  }
  for (const char* folder : {"scenarios", "."}) {
    const fs::path file = fs::path(folder) / (plan.scenario + ".toml");
    std::error_code ignored;
    if (fs::exists(file, ignored)) return load_scenario(file);
  }
  return find_drill(plan.scenario, {});
}

}  // namespace

int job_count(const CommonOptions& common) {
  if (common.jobs > 0) return common.jobs;
  cpu_set_t allowed;
  return ::sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? std::max(1, CPU_COUNT(&allowed)) : 1;
}

Result<void> check_actors(const Plan& plan, const Scenario& scenario) {
  std::vector<std::string> names = {std::string(all_actors)};
  for (const ActorConfig& actor : scenario.actors)
    for (int n = 1; n <= actor.count; ++n) names.push_back(actor.name + "-" + std::to_string(n));
  for (const Fault& fault : plan.faults) {
    if (strikes_downstream(fault.kind) || strikes_ledger(fault.kind)) continue;
    if (std::find(names.begin(), names.end(), fault.target) != names.end()) continue;
    const std::string near = nearest(fault.target, names);
    std::string known;
    for (const std::string& name : names) known += (known.empty() ? "" : ", ") + name;
    return Error{
        .code = ExitCode::usage,
        .message = fmt::format("the scenario {} has no actor {}", printable(scenario.name), printable(fault.target)),
        .mend = near.empty() ? "it has " + known : "did you mean " + near + "?"};
  }
  return {};
}

ExitCode report(const Error& error) {
  talk("halfsent: " + error.to_string() + "\n");
  return error.code;
}

ExitCode run_command(const RunOptions& options, const CommonOptions& common) {
  if (!options.resume.empty()) return resume_command(options, common);
  if (options.scenario.empty())
    return report(
        {.code = ExitCode::usage, .message = "which scenario?", .mend = "halfsent run scenarios/canary.toml"});
  Result<Scenario> scenario = load_scenario(options.scenario);
  if (!scenario) return report(scenario.error());
  scenario->without_invariants = options.without;
  const bool drill = !scenario->runs.empty();
  if (drill && options.plan.empty() && options.faults.empty()) return run_drill(*scenario, options.system, common);
  if (!options.system.empty())
    return report({.code = ExitCode::usage,
                   .message = "--system is for the plans of a drill",
                   .mend = drill ? "a plan names its system itself" : "this scenario has a system of its own"});
  if (options.plan.empty()) return explore_command(std::move(*scenario), options, common);
  const Result<Plan> plan = read_plan(options.plan);
  if (!plan) return report(plan.error());
  if (plan->scenario != scenario->name)
    return report({.code = ExitCode::usage,
                   .message = fmt::format("the plan is for the scenario {}, not for {}", printable(plan->scenario),
                                          scenario->name),
                   .mend = "run it with `halfsent replay`"});
  if (Result<void> known = check_actors(*plan, *scenario); !known) return report(known.error());
  const Result<fs::path> out = make_run_folder(common.out, scenario->name, plan->seed);
  if (!out) return report(out.error());
  return run_one(*scenario, *plan, *out, common);
}

ExitCode replay_command(const ReplayOptions& options, const CommonOptions& common) {
  const Result<Plan> plan = read_plan(options.plan);
  if (!plan) return report(plan.error());
  Result<Scenario> scenario = find_scenario(*plan, options.scenario);
  if (!scenario) return report(scenario.error());
  scenario->without_invariants = options.without;
  if (Result<void> known = check_actors(*plan, *scenario); !known) return report(known.error());
  const Result<fs::path> out = make_run_folder(common.out, scenario->name, plan->seed);
  if (!out) return report(out.error());
  if (options.repeat <= 1) return run_one(*scenario, *plan, *out, common);

  Result<std::unique_ptr<Runner>> runner = Runner::create(*scenario);
  if (!runner) return report(runner.error());
  std::map<std::string, int> digests;
  ExitCode code = ExitCode::held;
  for (int i = 0; i < options.repeat && interrupted_by == 0; ++i) {
    const Result<Execution> execution = (*runner)->run(*plan);
    if (!execution) return report(execution.error());
    const std::string fingerprint = digest(execution->history);
    if (digests[fingerprint]++ == 0) {
      if (Result<void> stored = store(*out, fingerprint, *execution); !stored) return report(stored.error());
      const Verdict verdict = judge(execution->history, *plan, terms_of(*scenario, *plan));
      code = more_serious(code, exit_code(verdict));
      if (digests.size() == 1) say(verdict_block(verdict, *plan, common.style));
    }
  }
  if (interrupted_by != 0) return interrupted_code();
  say(fmt::format("{} executions, {} {}\n", options.repeat, digests.size(),
                  digests.size() == 1 ? "history" : "different histories"));
  for (const auto& [fingerprint, times] : digests) say(fmt::format("  {} {} times\n", fingerprint, times));
  return digests.size() == 1 ? code : more_serious(code, ExitCode::diverged);
}

ExitCode windows_command(const fs::path& file, const CommonOptions& common) {
  const Result<Scenario> scenario = load_scenario(file);
  if (!scenario) return report(scenario.error());
  Result<std::unique_ptr<Runner>> runner = Runner::create(*scenario);
  if (!runner) return report(runner.error());
  const Plan plan{.scenario = scenario->name, .seed = 1, .faults = {}};
  const Result<Execution> execution = (*runner)->run(plan);
  if (!execution) return report(execution.error());
  const std::vector<Boundary> boundaries = name_boundaries(execution->history);
  say(windows_table(execution->history, boundaries, common.style));
  const Verdict verdict = judge(execution->history, plan, terms_of(*scenario));
  say("\n" + verdict_block(verdict, plan, common.style));
  return exit_code(verdict);
}

ExitCode doctor_command(const CommonOptions&) {
  ExitCode code = ExitCode::held;
  for (const CheckResult& check : run_doctor()) {
    const char* word = check.state == CheckState::ok ? "ok" : check.state == CheckState::warn ? "warning" : "MISSING";
    say(fmt::format("{:<8} {:<28} {}\n", word, check.name, printable(check.found)));
    if (!check.mend.empty()) say(fmt::format("{:<8} -> {}\n", "", printable(check.mend)));
    if (check.state == CheckState::fail) code = ExitCode::harness_fault;
  }
  say(code == ExitCode::held ? "everything that is needed is here\n"
                             : "halfsent cannot work here before that is mended\n");
  return code;
}

}  // namespace halfsent
