#include "harness/cli/campaign_job.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "harness/cli/stored_run.h"
#include "harness/world/execution.h"

namespace halfsent {
namespace {

namespace fs = std::filesystem;

void tell(int fd, const Record& record) {
  const std::string line = to_line(record) + "\n";
  for (std::size_t at = 0; at < line.size();) {
    const ssize_t wrote = ::write(fd, line.data() + at, line.size() - at);
    if (wrote < 0 && errno != EINTR) ::_exit(1);  // nobody listens any more
    if (wrote > 0) at += static_cast<std::size_t>(wrote);
  }
}

// Of executions that held, one of so many is run again with programs that are executed, not forked.
constexpr std::size_t audit_interval = 20;

// And the first in which somebody comes back: forked incarnations are what may differ.
std::size_t first_kill(const SweepPlan& plan) {
  const auto kills = [](const SweepCell& cell) { return cell.faults.back().kind == FaultKind::kill; };
  return static_cast<std::size_t>(std::find_if(plan.cells.begin(), plan.cells.end(), kills) - plan.cells.begin());
}

// Of what held only what is counted is kept.
Verdict counted(Verdict verdict) {
  verdict.judged.clear();
  verdict.not_judged.clear();
  verdict.notes.clear();
  for (KeyVerdict& key : verdict.keys) {
    key.why.clear();
    key.evidence.clear();
  }
  return verdict;
}

class Worker {
 public:
  Worker(Runner& runner, const Scenario& scenario, const CampaignSpec& spec, const CampaignOptions& options,
         const Tally& before, int fd)
      : runner_(runner),
        scenario_(scenario),
        options_(options),
        before_(before),
        fd_(fd),
        spec_(spec),
        strategy_(make_strategy(spec.strategy, spec.options)) {}

  void regression(const Regression& regression) {
    PlanRecord record{
        .name = "regression." + regression.name, .regression = regression.name, .plan = to_string(regression.plan)};
    if (!before_.knows(record.name)) execute(regression.plan, record, false);
  }

  void unit(std::size_t unit, const SweepCell& cell, bool audit) {
    if (before_.is_done(unit)) return;
    childless_ = 0;
    visit(unit, unit_name(unit), cell, 1, after(cell, spec_.options.bounds), audit);
    tell(fd_, UnitRecord{.unit = unit, .childless = childless_});
  }

 private:
  // Depth first: a history is needed no longer than what is below it is run.
  // NOLINTNEXTLINE(misc-no-recursion): as deep as a plan has windows
  void visit(std::size_t unit, const std::string& name, const SweepCell& cell, std::size_t windows, const Bounds& left,
             bool audit) {
    const Plan plan{.scenario = scenario_.name, .seed = spec_.options.seed, .faults = cell.faults};
    const bool has_children = spec_.strategy != "sweep" && (left.faults > 0 || left.switches > 0);
    const std::optional<History> held = history_of(unit, name, plan, windows, has_children, audit);
    if (!has_children) return;
    if (!held) {
      ++childless_;
      return;
    }
    const std::vector<SweepCell> cells =
        strategy_->below({.unit = unit, .windows = windows, .plan = &plan, .history = &*held, .left = left});
    for (std::size_t i = 0; i < cells.size(); ++i)
      visit(unit, name + "." + unit_name(i), cells[i], windows + 1, after(cells[i], left), i % audit_interval == 0);
  }

  // The history of a plan that holds. One that has its record is run again only where it is needed.
  std::optional<History> history_of(std::size_t unit, const std::string& name, const Plan& plan, std::size_t windows,
                                    bool needed, bool audit) {
    if (!before_.knows(name)) {
      PlanRecord record{.unit = unit, .name = name, .plan = to_string(plan), .windows = windows};
      return execute(plan, record, audit);
    }
    if (!needed) return std::nullopt;
    Result<Execution> execution = runner_.run(plan, StartMode::fork);
    if (!execution || code_of(*execution, plan) != ExitCode::held) return std::nullopt;
    return std::move(execution->history);
  }

  [[nodiscard]] ExitCode code_of(const Execution& execution, const Plan& plan) const {
    return exit_code(judge(execution.history, plan, terms_of(scenario_)));
  }

  // Runs a plan, stores it, judges it and tells of it. Runs it again when it violates (a counterexample that does not
  // repeat is none), and where it is to be audited. Its history, where it held.
  std::optional<History> execute(const Plan& plan, PlanRecord& record, bool audit) {
    Result<Execution> execution = runner_.run(plan, StartMode::fork);
    if (!execution) {
      record.error = execution.error();
    } else if (Result<void> stored = store(options_.out, record.name, *execution); !stored) {
      record.error = stored.error();
    } else {
      record.verdict = judge(execution->history, plan, terms_of(scenario_));
      const ExitCode code = exit_code(record.verdict);
      const bool again = code == ExitCode::violated || (audit && execution->forked > 0);
      if (again) record.error = confirm(plan, *execution, record);
    }
    const bool held = !record.error && exit_code(record.verdict) == ExitCode::held;
    if (held) record.verdict = counted(std::move(record.verdict));
    if (held && !options_.keep_passes) {
      std::error_code ignored;
      fs::remove(options_.out / (record.name + ".history.jsonl"), ignored);
      fs::remove(options_.out / (record.name + ".output.txt"), ignored);
    }
    tell(fd_, record);
    if (!held) return std::nullopt;
    return std::move(execution->history);
  }

  std::optional<Error> confirm(const Plan& plan, const Execution& first, PlanRecord& record) {
    const Result<Execution> again = runner_.run(plan);
    ++record.runs;
    if (!again) return again.error();
    if (digest(again->history) == digest(first.history)) return std::nullopt;
    if (Result<void> stored = store(options_.out, record.name + ".again", *again); !stored) return stored.error();
    return Error{.code = ExitCode::diverged,
                 .message = fmt::format("a second execution went another way; both are in {} ({} and {}.again)",
                                        options_.out.string(), record.name, record.name),
                 .mend = first.forked == 0
                             ? "compare the two histories: what differs first is not under control"
                             : "compare the two histories; if the program draws random numbers or reads a clock when "
                               "it starts, set fork_server = false in [world]"};
  }

  Runner& runner_;
  const Scenario& scenario_;
  const CampaignOptions& options_;
  const Tally& before_;
  int fd_;
  const CampaignSpec& spec_;
  std::unique_ptr<Strategy> strategy_;
  int childless_ = 0;
};

// Whole before it is there under its name: any job may be the first that tells of it.
Result<void> store_clean(const fs::path& out, const Execution& clean, int job) {
  const std::string name = fmt::format("{}.{}", clean_name, job);
  if (Result<void> stored = store(out, name, clean); !stored) return stored;
  for (const char* end : {".history.jsonl", ".output.txt"}) {
    std::error_code error;
    fs::rename(out / (name + end), out / (clean_name + std::string(end)), error);
    if (error) return Error{.message = fmt::format("cannot rename a file in {}: {}", out.string(), error.message())};
  }
  return {};
}

}  // namespace

void run_job(const Scenario& scenario, const CampaignSpec& spec, const CampaignOptions& options, const Tally& before,
             int job, int cpu, int fd) {
  const auto fails = [fd](const Error& error) { tell(fd, FailureRecord{.error = error}); };
  Result<std::unique_ptr<Runner>> runner = Runner::create(scenario, {.cpu = cpu});
  if (!runner) return fails(runner.error());
  const Plan nothing{.scenario = scenario.name, .seed = spec.options.seed, .faults = {}};
  const Result<Execution> clean = (*runner)->run(nothing, StartMode::fork);
  if (!clean) return fails(clean.error());
  if (Result<void> stored = store_clean(options.out, *clean, job); !stored) return fails(stored.error());
  tell(fd,
       CleanRecord{.digest = digest(clean->history), .verdict = judge(clean->history, nothing, terms_of(scenario))});

  Worker worker(**runner, scenario, spec, options, before, fd);
  int turn = 0;
  const auto is_mine = [&](std::size_t unit) { return has(spec.shard, unit) && turn++ % options.jobs == job; };
  for (std::size_t i = 0; i < options.regressions.size(); ++i)
    if (is_mine(i)) worker.regression(options.regressions[i]);
  const SweepPlan plan = make_strategy(spec.strategy, spec.options)->first(clean->history);
  const std::size_t kill = first_kill(plan);
  for (std::size_t unit = 0; unit < plan.cells.size(); ++unit)
    if (is_mine(unit)) worker.unit(unit, plan.cells[unit], unit % audit_interval == 0 || unit == kill);
}

}  // namespace halfsent
