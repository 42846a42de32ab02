// The composition root: the command line.
#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <string_view>

#include "harness/cli/campaign.h"
#include "harness/cli/commands.h"
#include "harness/cli/explore_command.h"
#include "harness/cli/init.h"
#include "harness/cli/list.h"
#include "harness/cli/selfcheck.h"

namespace halfsent {
namespace {

// Precedence: flag, NO_COLOR, CLICOLOR_FORCE, what the descriptor is.
bool wants_colour(const std::string& flag, int fd) {
  if (flag == "always") return true;
  if (flag == "never") return false;
  const auto set = [](const char* name) {
    const char* value = std::getenv(name);
    return value != nullptr && *value != '\0';
  };
  if (set("NO_COLOR")) return false;
  if (set("CLICOLOR_FORCE")) return true;
  const char* terminal = std::getenv("TERM");
  return ::isatty(fd) == 1 && (terminal == nullptr || std::string_view(terminal) != "dumb");
}

int width_of(int fd) {
  winsize size{};
  if (::ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 20) return size.ws_col;
  return ::isatty(fd) == 1 ? 80 : 0;
}

void on_signal(int number) { interrupted_by = number; }

// SIGINT and SIGTERM end a campaign with what is there; a second one ends it at once.
void install_signals() {
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
}

std::vector<std::string> strategy_names() {
  std::vector<std::string> names;
  for (const StrategyInfo& strategy : strategy_table()) names.emplace_back(strategy.name);
  return names;
}

void add_without(CLI::App& command, std::vector<std::string>& names) {
  command
      .add_option("--without-invariant", names,
                  "do not judge this one (again for more); see `halfsent list invariants`")
      ->check(CLI::IsMember(invariant_names()));
}

// What bounds a campaign, splits it, and keeps what it has found.
void add_limits(CLI::App& run, RunOptions& options, CLI::Option* plan) {
  run.add_option("--budget", options.budget, "real time after which nothing more is begun, as in 60s; then incomplete")
      ->excludes(plan);
  run.add_option("--max-executions", options.max_executions, "so many executions and no more; then incomplete")
      ->check(CLI::PositiveNumber)
      ->excludes(plan);
  run.add_option("--shard", options.shard,
                 "i/n: the i-th of n parts, to be merged; without it what a test runner or batch engine says")
      ->excludes(plan);
  run.add_option("--resume", options.resume, "the folder of a campaign that was cut off: go on with it")
      ->excludes(plan);
  run.add_option("--shrink", options.shrink, "for how long a counterexample is made smaller; 0s: not at all")
      ->capture_default_str()
      ->excludes(plan);
  run.add_flag("--save", options.save, "keep the first counterexample in regressions/ beside the scenario")
      ->excludes(plan);
}

CLI::App* add_merge(CLI::App& app, MergeOptions& options) {
  CLI::App* merge = app.add_subcommand("merge", "Join the shards of a campaign into one statement and one exit code");
  merge->footer("Example:\n  halfsent merge shard-1/polling_cpp/latest shard-2/polling_cpp/latest");
  merge->add_option("folder", options.folders, "the folder of each shard")->required();
  return merge;
}

CLI::App* add_run(CLI::App& app, RunOptions& options, CommonOptions& common) {
  CLI::App* run = app.add_subcommand("run", "Sweep every window of a scenario, or run one plan");
  run->footer(
      "Examples:\n  halfsent run scenarios/canary.toml\n"
      "  halfsent run scenarios/polling_cpp.toml --faults drop,status\n"
      "  halfsent run scenarios/polling_cpp.toml --strategy exhaustive --faults 2 --faults drop,status\n"
      "  halfsent run scenarios/polling_cpp.toml --strategy random --plans 50 --seed 7 --budget 60s\n"
      "  halfsent run scenarios/polling_cpp.toml --shard 1/4\n"
      "  halfsent run --resume halfsent-runs/polling_cpp/latest\n"
      "  halfsent run scenarios/drills/staging_drill.toml --system polling_cpp\n"
      "  halfsent run scenarios/polling_python.toml --plan 'scenario polling_python; kill worker-1 at after_accept "
      "4187:2026-W33'");
  run->add_option("scenario", options.scenario, "the scenario's TOML file");
  CLI::Option* plan =
      run->add_option("--plan", options.plan, "a plan, or a file that holds one; without it every window is swept");
  run->add_option("--faults", options.faults,
                  "which faults, as in kill,hold,drop, or all, without it those that the scenario lists; or, "
                  "exhaustive and random, "
                  "how many in one plan (it may be given twice)")
      ->allow_extra_args(false)
      ->excludes(plan);
  run->add_option("--strategy", options.strategy, "which plans; see `halfsent list strategies`")
      ->check(CLI::IsMember(strategy_names()))
      ->capture_default_str()
      ->excludes(plan);
  run->add_option("--switches", options.switches, "exhaustive, random: how many preemptions in one plan")
      ->check(CLI::Range(0, 9))
      ->excludes(plan);
  run->add_option("--plans", options.plans, "random: how many walks; without it 1000")
      ->check(CLI::Range(1, 10'000'000))
      ->excludes(plan);
  add_limits(*run, options, plan);
  run->add_option("--system", options.system,
                  "of a drill: the one system to run it on, a scenario file or the name of one that the drill lists");
  run->add_option("--seed", options.seed, "seed of the world's randomness")->capture_default_str();
  run->add_option("--out", common.out, "folder for histories")->capture_default_str();
  run->add_option("--jobs", common.jobs, "worlds in parallel; 0: one for each CPU")
      ->check(CLI::Range(0, 256))
      ->capture_default_str();
  add_without(*run, options.without);
  run->add_flag("--keep-passes", options.keep_passes, "keep the histories of executions that passed");
  run->add_flag("!--no-twin", options.twin, "do not run the naive twin after a sweep that holds");
  return run;
}

CLI::App* add_replay(CLI::App& app, ReplayOptions& options, CommonOptions& common) {
  CLI::App* replay = app.add_subcommand("replay", "Run a plan again, exactly");
  replay->footer(
      "Examples:\n  halfsent replay 'scenario polling_python_naive; kill worker-1 at after_accept 4187:2026-W33'\n"
      "  halfsent replay 'scenario polling_cpp; drop downstream at after_accept 4187:2026-W33' --repeat 5");
  replay->add_option("plan", options.plan, "a plan, or a file that holds one")->required();
  replay->add_option("--scenario", options.scenario,
                     "the scenario's file; without it scenarios/NAME.toml or NAME.toml");
  replay->add_option("--repeat", options.repeat, "so many times; different histories are a divergence")
      ->check(CLI::Range(1, 1000000));
  add_without(*replay, options.without);
  replay->add_option("--out", common.out, "folder for histories")->capture_default_str();
  return replay;
}

CLI::App* add_windows(CLI::App& app, std::filesystem::path& scenario) {
  CLI::App* windows = app.add_subcommand("windows", "List each step of an execution without faults, with its names");
  windows->footer("Example:\n  halfsent windows scenarios/polling_python.toml");
  windows->add_option("scenario", scenario, "the scenario's TOML file")->required();
  return windows;
}

CLI::App* add_selfcheck(CLI::App& app, SelfcheckOptions& options, CommonOptions& common) {
  CLI::App* selfcheck =
      app.add_subcommand("selfcheck", "Catch every seeded defect of the reference system, and accuse it of nothing");
  selfcheck->footer(
      "Examples:\n  halfsent selfcheck\n  halfsent selfcheck --defect M38 --defect never-marks\n"
      "  halfsent selfcheck --without-invariant phantom --defect M38   # what would be missed without it");
  selfcheck->add_option("--defect", options.only, "one of them, by id or switch (again for more); without it all");
  selfcheck->add_option("--table", options.table, "the table of seeded defects")->capture_default_str();
  selfcheck->add_option("--seed", options.seed, "seed of the worlds' randomness")->capture_default_str();
  selfcheck->add_option("--out", common.out, "folder for histories")->capture_default_str();
  selfcheck->add_option("--jobs", common.jobs, "worlds in parallel; 0: one for each CPU")
      ->check(CLI::Range(0, 256))
      ->capture_default_str();
  add_without(*selfcheck, options.without);
  selfcheck->add_flag("!--no-reference", options.reference, "only the defects, not the right system");
  return selfcheck;
}

CLI::App* add_list(CLI::App& app, ListOptions& options) {
  CLI::App* list = app.add_subcommand("list", "List scenarios, faults, invariants, strategies and boundaries");
  list->footer("Examples:\n  halfsent list\n  halfsent list faults\n  halfsent list scenarios scenarios/");
  list->add_option("what", options.topic, "one of them; without it all")->check(CLI::IsMember(list_topics()));
  list->add_option("folder", options.folder, "where scenarios are looked for")->capture_default_str();
  return list;
}

CLI::App* add_init(CLI::App& app, InitOptions& options) {
  CLI::App* init = app.add_subcommand("init", "Write a scenario for a worker of your own");
  init->footer("Example:\n  halfsent init --command 'python3 worker.py' --ledger app.db");
  init->add_option("--command", options.command, "what starts the worker; {actor} becomes its name")->required();
  init->add_option("--ledger", options.ledger, "the SQLite file of the jobs; it is copied, never opened")->required();
  init->add_option("--files", options.files,
                   "folder that the worker runs in; without it the files that the command names");
  init->add_option("--env", options.env, "NAME=VALUE: a variable that the worker needs (again for more)");
  init->add_option("--output", options.output, "the scenario to write; without it named after the worker");
  return init;
}

int run(int argc, char** argv) {
  CLI::App app{
      "Halfsent kills real workers in every crash window and proves that each job is delivered exactly once or visibly "
      "flagged.\n"
      "Exit codes: 0 held, 1 violated, 2 usage, 3 environment, 4 not reached, 5 diverged, 6 incomplete, 7 "
      "inconclusive."};
  app.require_subcommand(1);
  app.set_version_flag("--version", HALFSENT_VERSION);
  app.footer("`halfsent COMMAND --help` says more about a command and has examples.");
  CommonOptions common;
  std::string colour = "auto";
  app.add_option("--color", colour, "auto, always or never")->check(CLI::IsMember({"auto", "always", "never"}));

  RunOptions run_options;
  ReplayOptions replay_options;
  MergeOptions merge_options;
  ListOptions list_options;
  std::filesystem::path windows_scenario;
  const CLI::App* run_app = add_run(app, run_options, common);
  const CLI::App* replay_app = add_replay(app, replay_options, common);
  const CLI::App* merge_app = add_merge(app, merge_options);
  const CLI::App* windows_app = add_windows(app, windows_scenario);
  const CLI::App* list_app = add_list(app, list_options);
  SelfcheckOptions selfcheck_options;
  const CLI::App* selfcheck_app = add_selfcheck(app, selfcheck_options, common);
  InitOptions init_options;
  const CLI::App* init_app = add_init(app, init_options);
  CLI::App* doctor_app = app.add_subcommand("doctor", "Check what this machine allows, and name the mend");
  doctor_app->footer("Example:\n  halfsent doctor");

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const int code = app.exit(error);
    return code == 0 ? 0 : static_cast<int>(ExitCode::usage);
  }
  common.style = {.colour = wants_colour(colour, 1), .width = width_of(1)};
  install_signals();
  if (run_app->parsed()) return static_cast<int>(run_command(run_options, common));
  if (replay_app->parsed()) return static_cast<int>(replay_command(replay_options, common));
  if (merge_app->parsed()) return static_cast<int>(merge_command(merge_options, common));
  if (windows_app->parsed()) return static_cast<int>(windows_command(windows_scenario, common));
  if (list_app->parsed()) return static_cast<int>(list_command(list_options, common.style));
  if (init_app->parsed()) return static_cast<int>(init_command(init_options));
  if (selfcheck_app->parsed()) return static_cast<int>(selfcheck_command(selfcheck_options, common));
  if (doctor_app->parsed()) return static_cast<int>(doctor_command(common));
  return static_cast<int>(ExitCode::usage);
}

}  // namespace
}  // namespace halfsent

int main(int argc, char** argv) {
  try {
    return halfsent::run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "halfsent: %s (a defect of ours)\n", error.what());
    return static_cast<int>(halfsent::ExitCode::harness_fault);
  }
}
