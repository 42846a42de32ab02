#include "harness/cli/commands.h"

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "harness/cli/campaign.h"
#include "harness/cli/drill.h"
#include "harness/cli/progress.h"
#include "harness/cli/selfcheck.h"
#include "harness/cli/stored_run.h"
#include "harness/core/text.h"
#include "harness/process/doctor.h"
#include "harness/world/execution.h"
#include "reports/completeness.h"
#include "reports/operations_json.h"

namespace halfsent {
namespace {

namespace fs = std::filesystem;

void say(const std::string& text) { std::fwrite(text.data(), 1, text.size(), stdout); }
void talk(const std::string& text) {
  std::fflush(stdout);
  std::fwrite(text.data(), 1, text.size(), stderr);
}

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

SweepSummary summary_of(const CampaignResult& campaign) {
  SweepSummary summary{.cells = {},
                       .executions = campaign.executions,
                       .columns = campaign.sweep.columns,
                       .unused_columns = campaign.sweep.unused,
                       .idle_left_out = campaign.sweep.left_out};
  for (const CellResult& cell : campaign.cells) {
    CellOutcome outcome = cell_outcome(cell.verdict);
    if (cell.error) outcome = cell.error->code == ExitCode::diverged ? CellOutcome::diverged : CellOutcome::error;
    summary.cells.push_back({.boundary = cell.cell.boundary, .column = cell.cell.column, .outcome = outcome});
    summary.accepted += cell.verdict.accepted;
    summary.deduplicated += cell.verdict.deduplicated;
    summary.faults_planned += cell.verdict.faults_planned;
    summary.faults_fired += cell.verdict.faults_fired;
  }
  return summary;
}

ExitCode code_of(const CellResult& cell) { return cell.error ? cell.error->code : exit_code(cell.verdict); }

ExitCode code_of(const CampaignResult& campaign) {
  ExitCode code = exit_code(campaign.clean_verdict);
  for (const CellResult& cell : campaign.cells) code = more_serious(code, code_of(cell));
  for (const CellResult& cell : campaign.deeper.cells) code = more_serious(code, code_of(cell));
  if (campaign.sweep.cells.empty()) code = more_serious(code, ExitCode::not_reached);
  return campaign.interrupted || campaign.cells.size() < campaign.sweep.cells.size()
             ? more_serious(code, ExitCode::incomplete)
             : code;
}

std::string faults_of(const Plan& plan) {
  std::string text;
  for (const Fault& fault : plan.faults) text += (text.empty() ? "" : "; ") + to_string(fault);
  return text;
}

// A pass says little when the same campaign would also have passed a system that is known to be wrong.
ExitCode check_twin(const Scenario& scenario, const RunOptions& options, const fs::path& out) {
  if (scenario.naive_twin.empty() || !options.twin) {
    say(options.twin ? "no naive twin is named: that this campaign would notice a wrong system is not shown\n"
                     : "the naive twin was not run\n");
    return ExitCode::held;
  }
  Result<Scenario> twin = load_scenario(scenario.file.parent_path() / scenario.naive_twin);
  if (!twin) return report(twin.error());
  twin->sweep_faults = scenario.sweep_faults;
  twin->without_invariants = scenario.without_invariants;
  std::error_code error;
  fs::create_directory(out / "twin", error);
  const Progress progress("naive twin " + twin->name);
  const Result<CampaignResult> campaign = run_sweep(*twin, {.seed = options.seed,
                                                            .jobs = 1,
                                                            .out = out / "twin",
                                                            .stop_at_first_violation = true,
                                                            .progress = progress.callback()});
  progress.finish();
  if (!campaign) return report(campaign.error());
  if (campaign->interrupted) return interrupted_code();
  for (const CellResult& cell : campaign->cells) {
    if (code_of(cell) != ExitCode::violated) continue;
    say(fmt::format("The naive twin {} fails under the same campaign, after {} executions: {}\n", twin->name,
                    campaign->executions, printable(faults_of(cell.plan))));
    return ExitCode::held;
  }
  talk(fmt::format("halfsent: the naive twin {} held too: this campaign shows nothing\n", twin->name));
  return ExitCode::harness_fault;
}

// The one to explain first: what became of a job rather than a rule of the run, and a crash if there is one, because
// they need the fewest words.
const CellResult* first_counterexample(const CampaignResult& campaign) {
  const CellResult* first = nullptr;
  int best = 4;
  for (const CellResult& cell : campaign.cells) {
    if (code_of(cell) != ExitCode::violated) continue;
    const bool crash = cell.plan.faults.size() == 1 && cell.plan.faults[0].kind == FaultKind::kill;
    const int rank = (cell_outcome(cell.verdict) == CellOutcome::broken ? 2 : 0) + (crash ? 0 : 1);
    if (rank >= best) continue;
    best = rank;
    first = &cell;
  }
  // Two faults are told only where one does not show it.
  for (const CellResult& cell : campaign.deeper.cells)
    if (first == nullptr && code_of(cell) == ExitCode::violated) first = &cell;
  return first;
}

void tell_first_counterexample(const Scenario& scenario, const CampaignResult& campaign, const CommonOptions& common) {
  const CellResult* first = first_counterexample(campaign);
  if (first == nullptr) return;
  const Result<History> history = load_history(first->history);
  if (!history) return;
  say(fmt::format("\nFirst counterexample of {} ({}):\n\n", printable(scenario.name), first->history.string()));
  say(story(*history, first->verdict, common.style));
  say("\n" + verdict_block(first->verdict, first->plan, common.style));
}

// Each failure by its plan, and what cannot be judged by its reason.
void tell_failures(const CampaignResult& campaign) {
  std::size_t told = 0;
  constexpr std::size_t most = 40;
  std::vector<CellResult> all = campaign.cells;
  all.insert(all.end(), campaign.deeper.cells.begin(), campaign.deeper.cells.end());
  for (const CellResult& cell : all) {
    if (code_of(cell) == ExitCode::held || told++ >= most) continue;
    if (cell.error) {
      say(fmt::format("  {}\n    {}\n", printable(to_string(cell.plan)), printable(cell.error->to_string())));
      continue;
    }
    say(fmt::format("  {:<12} {}\n", to_string(cell_outcome(cell.verdict)), printable(to_string(cell.plan))));
    for (const RunViolation& broken : cell.verdict.broken)
      say(fmt::format("    {}: {}{}\n", broken.invariant, broken.key.empty() ? "" : quote_key(broken.key) + " ",
                      printable(broken.why)));
    for (const std::string& why : cell.verdict.inconclusive) say(fmt::format("    {}\n", printable(why)));
  }
  if (told > most) say(fmt::format("  and {} more\n", told - most));
}

// What --faults says: which, and how many in one plan.
Result<void> take_faults(const RunOptions& options, Scenario& scenario, Bounds& bounds) {
  const bool exhaustive = options.strategy == "exhaustive";
  for (const std::string& word : options.faults) {
    const bool is_count =
        !word.empty() && std::all_of(word.begin(), word.end(), [](char c) { return c >= '0' && c <= '9'; });
    if (is_count && (word.size() > 1 || word == "0"))
      return Error{.code = ExitCode::usage,
                   .message = fmt::format("{} faults in one plan are out of reach", word),
                   .mend = "give 1 to 9; each more takes hundreds of times as long"};
    if (is_count) {
      bounds.faults = word[0] - '0';
      continue;
    }
    Result<std::vector<FaultKind>> faults = parse_fault_kinds(word);
    if (!faults) return faults.error();
    scenario.sweep_faults = std::move(*faults);
  }
  if (!exhaustive && (bounds.faults > 1 || bounds.switches > 0))
    return Error{.code = ExitCode::usage,
                 .message = "the strategy sweep strikes once in each execution",
                 .mend = "say --strategy exhaustive"};
  auto& faults = scenario.sweep_faults;
  if (bounds.switches > 0 && std::find(faults.begin(), faults.end(), FaultKind::switch_) == faults.end())
    faults.push_back(FaultKind::switch_);
  return {};
}

Completeness completeness_of(const CampaignResult& campaign, const Scenario& scenario, const Bounds& bounds) {
  Completeness statement{.bounds = bounds,
                         .faults = {},
                         .plans = campaign.deeper.plans,
                         .executions = campaign.executions,
                         .childless = campaign.deeper.childless,
                         .idle_left_out = campaign.sweep.left_out,
                         .not_run = static_cast<int>(campaign.sweep.cells.size() - campaign.cells.size())};
  for (const FaultKind kind : scenario.sweep_faults)
    for (const FaultInfo& fault : fault_table())
      if (fault.kind == kind) statement.faults.emplace_back(fault.name);
  statement.plans[0] = 1;
  statement.plans[1] = static_cast<int>(campaign.cells.size());
  return statement;
}

ExitCode run_campaign(const Scenario& scenario, const RunOptions& options, const Bounds& bounds, const fs::path& out,
                      const CommonOptions& common) {
  const bool exhaustive = options.strategy == "exhaustive";
  const Progress progress(scenario.name);
  const Result<CampaignResult> campaign = run_sweep(scenario, {.seed = options.seed,
                                                               .jobs = job_count(common),
                                                               .out = out,
                                                               .keep_passes = options.keep_passes,
                                                               .bounds = bounds,
                                                               .exhaustive = exhaustive,
                                                               .progress = progress.callback()});
  progress.finish();
  if (!campaign) return report(campaign.error());
  ExitCode code = code_of(*campaign);
  if (const ExitCode clean = exit_code(campaign->clean_verdict); clean != ExitCode::held) {
    say("Without any fault:\n\n" + story(campaign->clean, campaign->clean_verdict, common.style));
    say("\n" +
        verdict_block(campaign->clean_verdict, {.scenario = scenario.name, .seed = options.seed, .faults = {}},
                      common.style) +
        "\n");
  }
  say(sweep_summary(summary_of(*campaign), common.style));
  say(fmt::format("judged: {}\n", judged_line(campaign->clean_verdict)));
  if (exhaustive) say("\n" + completeness_statement(completeness_of(*campaign, scenario, bounds)));
  if (code != ExitCode::held) {
    say("\n");
    tell_failures(*campaign);
    tell_first_counterexample(scenario, *campaign, common);
  }
  if (campaign->interrupted) {
    talk(fmt::format("halfsent: interrupted; {} of {} cells are done, their histories are in {}\n",
                     campaign->cells.size(), campaign->sweep.cells.size(), out.string()));
    return interrupted_code();
  }
  if (code == ExitCode::held && scenario.expect_violation) {
    talk(fmt::format("halfsent: {} must fail, and nothing was found: the campaign is blind\n", scenario.name));
    return ExitCode::harness_fault;
  }
  if (code == ExitCode::held) code = check_twin(scenario, options, out);
  talk(fmt::format("seed {}; histories: {}\n", options.seed, out.string()));
  if (const CellResult* first = first_counterexample(*campaign)) talk(replay_line(first->plan));
  return code;
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
  Result<Scenario> scenario = load_scenario(options.scenario);
  if (!scenario) return report(scenario.error());
  scenario->without_invariants = options.without;
  const bool drill = !scenario->runs.empty();
  if (drill && options.plan.empty() && options.faults.empty()) return run_drill(*scenario, options.system, common);
  if (!options.system.empty())
    return report({.code = ExitCode::usage,
                   .message = "--system is for the plans of a drill",
                   .mend = drill ? "a plan names its system itself" : "this scenario has a system of its own"});
  Bounds bounds{.faults = 1, .switches = options.switches};
  if (Result<void> taken = take_faults(options, *scenario, bounds); !taken) return report(taken.error());
  Plan plan{.scenario = scenario->name, .seed = options.seed, .faults = {}};
  if (!options.plan.empty()) {
    Result<Plan> given = read_plan(options.plan);
    if (!given) return report(given.error());
    plan = std::move(*given);
    if (plan.scenario != scenario->name)
      return report({.code = ExitCode::usage,
                     .message = fmt::format("the plan is for the scenario {}, not for {}", printable(plan.scenario),
                                            scenario->name),
                     .mend = "run it with `halfsent replay`"});
    if (Result<void> known = check_actors(plan, *scenario); !known) return report(known.error());
  }
  const Result<fs::path> out = make_run_folder(common.out, scenario->name, plan.seed);
  if (!out) return report(out.error());
  return options.plan.empty() ? run_campaign(*scenario, options, bounds, *out, common)
                              : run_one(*scenario, plan, *out, common);
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
