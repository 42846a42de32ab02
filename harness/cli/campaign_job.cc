#include "harness/cli/campaign_job.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <boost/json.hpp>
#include <cerrno>

#include "harness/cli/stored_run.h"
#include "harness/world/execution.h"

namespace halfsent {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

SweepOptions options_of(const Scenario& scenario) {
  // Past the lease by a second: then its holder is stale, whoever it is.
  return {.faults = scenario.sweep_faults,
          .past_lease = scenario.lease + std::chrono::seconds{1},
          .within_lease = scenario.lease / 2,
          .failover_loses = scenario.ledger.failover_loses};
}

// What a job tells the campaign, one JSON object a line: {"cell":3,"runs":2} and, when it failed, the parts of the
// error.
class Reporter {
 public:
  explicit Reporter(int fd) : fd_(fd) {}

  void done(std::int64_t cell, int runs, const std::optional<Error>& error = {}) {
    tell({{"cell", cell}, {"runs", runs}}, error);
  }

  // A plan below the cell.
  void deeper(std::int64_t cell, const std::string& name, const Plan& plan, std::size_t windows, int runs,
              const std::optional<Error>& error) {
    tell({{"cell", cell}, {"name", name}, {"plan", to_string(plan)}, {"windows", windows}, {"runs", runs}}, error);
  }

  // Everything below the cell is done.
  void finished(std::int64_t cell, int childless) { tell({{"cell", cell}, {"runs", 0}, {"childless", childless}}, {}); }

 private:
  void tell(json::object line, const std::optional<Error>& error) {
    if (error)
      line["error"] = {{"code", static_cast<int>(error->code)},
                       {"message", error->message},
                       {"mend", error->mend},
                       {"file", error->file},
                       {"line", error->line},
                       {"column", error->column}};
    const std::string text = json::serialize(line) + "\n";
    for (std::size_t at = 0; at < text.size();) {
      const ssize_t wrote = ::write(fd_, text.data() + at, text.size() - at);
      if (wrote < 0 && errno != EINTR) ::_exit(1);  // nobody listens any more
      if (wrote > 0) at += static_cast<std::size_t>(wrote);
    }
  }

  int fd_;
};

// Which executions that passed are run again too: one of so many cells, and the first in which somebody comes back.
constexpr std::size_t audit_interval = 20;
struct Audit {
  bool due = false;
  bool seen_return = false;
};

bool comes_back(const Execution& execution) {
  return std::any_of(execution.history.events.begin(), execution.history.events.end(), [](const Event& event) {
    return event.incarnation > 1 && std::holds_alternative<Started>(event.body);
  });
}

// What came of a plan.
struct Ran {
  int runs = 0;
  std::optional<Error> error = {};
  std::optional<History> held = {};  // its history, where it held
};

// Runs a plan, stores it, and runs it again when it violates (a counterexample that does not repeat is none) and as a
// sample of the others: then with programs that are executed, not forked.
std::optional<Error> execute(Runner& runner, const Scenario& scenario, const Plan& plan, const fs::path& out,
                             const std::string& name, Audit& audit, Ran& ran) {
  Result<Execution> execution = runner.run(plan, StartMode::fork);
  ++ran.runs;
  if (!execution) return execution.error();
  if (Result<void> stored = store(out, name, *execution); !stored) return stored.error();
  const ExitCode code = exit_code(judge(execution->history, plan, terms_of(scenario)));
  const bool violates = code == ExitCode::violated;
  if (code == ExitCode::held) ran.held = execution->history;
  const bool first_return = !audit.seen_return && comes_back(*execution);
  audit.seen_return = audit.seen_return || first_return;
  const bool sampled = execution->forked > 0 && (audit.due || first_return);
  if (!violates && !sampled) return std::nullopt;
  const Result<Execution> again = runner.run(plan);
  ++ran.runs;
  if (!again) return again.error();
  if (digest(again->history) == digest(execution->history)) return std::nullopt;
  if (Result<void> stored = store(out, name + ".again", *again); !stored) return stored.error();
  return Error{.code = ExitCode::diverged,
               .message = fmt::format("a second execution of \"{}\" went another way; both are in {} ({} and {}.again)",
                                      to_string(plan), out.string(), name, name),
               .mend = execution->forked == 0
                           ? "compare the two histories: what differs first is not under control"
                           : "compare the two histories; if the program draws random numbers or reads a clock when it "
                             "starts, set fork_server = false in [world]"};
}

// One job of a campaign: a cell, and what is below it.
class Worker {
 public:
  Worker(Runner& runner, const Scenario& scenario, const CampaignOptions& options, Reporter& reporter)
      : runner_(runner), scenario_(scenario), options_(options), reporter_(reporter) {}

  void run(std::size_t index, const SweepCell& cell) {
    cell_ = static_cast<std::int64_t>(index);
    audit_.due = index % audit_interval == 0;
    const Plan plan = plan_of(scenario_, options_.seed, cell);
    const std::string name = cell_name(index);
    const Ran ran = execute_one(plan, name);
    reporter_.done(cell_, ran.runs, ran.error);
    if (!options_.exhaustive) return;
    childless_ = 0;
    go_below(plan, name, 1, ran, after(cell, options_.bounds));
    reporter_.finished(cell_, childless_);
  }

 private:
  Ran execute_one(const Plan& plan, const std::string& name) {
    Ran ran;
    ran.error = execute(runner_, scenario_, plan, options_.out, name, audit_, ran);
    return ran;
  }

  // Depth first: a history is needed no longer than its children are run.
  void go_below(const Plan& parent, const std::string& parent_name, std::size_t windows, const Ran& ran,
                const Bounds& left) {
    if (left.faults <= 0 && left.switches <= 0) return;
    if (!ran.held) {
      ++childless_;
      return;
    }
    const std::vector<SweepCell> cells = children(*ran.held, parent, options_of(scenario_), left);
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const Plan plan = plan_of(scenario_, options_.seed, cells[i]);
      const std::string name = parent_name + "." + cell_name(i);
      audit_.due = i % audit_interval == 0;
      const Ran below = execute_one(plan, name);
      reporter_.deeper(cell_, name, plan, windows + 1, below.runs, below.error);
      go_below(plan, name, windows + 1, below, after(cells[i], left));
    }
  }

  Runner& runner_;
  const Scenario& scenario_;
  const CampaignOptions& options_;
  Reporter& reporter_;
  Audit audit_;
  std::int64_t cell_ = 0;
  int childless_ = 0;
};

}  // namespace

std::string cell_name(std::size_t index) { return fmt::format("{:05}", index); }

Plan plan_of(const Scenario& scenario, std::uint64_t seed, const SweepCell& cell) {
  return {.scenario = scenario.name, .seed = seed, .faults = cell.faults};
}

SweepPlan sweep_of(const Scenario& scenario, const CampaignOptions& options, const History& clean) {
  SweepPlan plan = sweep(clean, options_of(scenario));
  if (options.exhaustive)
    std::erase_if(plan.cells, [&](const SweepCell& cell) {
      const Bounds left = after(cell, options.bounds);
      return left.faults < 0 || left.switches < 0;
    });
  return plan;
}

void run_job(const Scenario& scenario, const CampaignOptions& options, int job, int cpu, int fd) {
  Reporter reporter(fd);
  Result<std::unique_ptr<Runner>> runner = Runner::create(scenario, {.cpu = cpu});
  if (!runner) return reporter.done(clean_done, 0, runner.error());
  const Plan nothing{.scenario = scenario.name, .seed = options.seed, .faults = {}};
  const Result<Execution> clean = (*runner)->run(nothing, StartMode::fork);
  if (!clean) return reporter.done(clean_done, 1, clean.error());
  if (job == 0)
    if (Result<void> stored = store(options.out, clean_name, *clean); !stored)
      return reporter.done(clean_done, 1, stored.error());
  reporter.done(job == 0 ? clean_stored : clean_done, 1);
  const SweepPlan plan = sweep_of(scenario, options, clean->history);
  Worker worker(**runner, scenario, options, reporter);
  for (std::size_t cell = static_cast<std::size_t>(job); cell < plan.cells.size();
       cell += static_cast<std::size_t>(options.jobs))
    worker.run(cell, plan.cells[cell]);
}

}  // namespace halfsent
