#include "harness/cli/campaign.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <boost/json.hpp>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <map>

#include "harness/cli/campaign_job.h"
#include "harness/cli/stored_run.h"
#include "harness/process/unique_fd.h"
#include "harness/world/scratch_folder.h"

namespace halfsent {

volatile std::sig_atomic_t interrupted_by = 0;

namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

std::optional<Error> error_of(const json::object& line) {
  const json::value* found = line.if_contains("error");
  if (found == nullptr) return std::nullopt;
  const json::object& error = found->as_object();
  const auto text = [&](const char* name) { return std::string(error.at(name).as_string()); };
  return Error{.code = static_cast<ExitCode>(error.at("code").to_number<int>()),
               .message = text("message"),
               .mend = text("mend"),
               .file = text("file"),
               .line = error.at("line").to_number<int>(),
               .column = error.at("column").to_number<int>()};
}

struct Job {
  pid_t pid = -1;
  UniqueFd pipe;
  std::string buffer;
  bool open = true;
};

std::vector<int> allowed_cpus() {
  cpu_set_t allowed;
  std::vector<int> cpus;
  if (::sched_getaffinity(0, sizeof allowed, &allowed) == 0)
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
      if (CPU_ISSET(cpu, &allowed)) cpus.push_back(cpu);
  return cpus.empty() ? std::vector<int>{-1} : cpus;
}

Result<Job> start_job(const Scenario& scenario, const CampaignOptions& options, int index, int cpu) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    return Error{.message = "cannot make a pipe: " + std::string(std::strerror(errno))};
  Job job{.pipe = UniqueFd(ends[0]), .buffer = {}};
  const pid_t parent = ::getpid();
  job.pid = ::fork();
  if (job.pid < 0) return Error{.message = "cannot start a job: " + std::string(std::strerror(errno))};
  if (job.pid == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(1);
    // The terminal sends its signals to all of us; what becomes of a campaign is for its first process to say.
    ::signal(SIGINT, SIG_IGN);
    ::signal(SIGTERM, SIG_DFL);
    ::close(ends[0]);
    run_job(scenario, options, index, cpu, ends[1]);
    std::fflush(nullptr);
    ::_exit(0);
  }
  ::close(ends[1]);
  return job;
}

// Takes in what the jobs tell, in any order; results are kept by cell.
class Collector {
 public:
  Collector(const Scenario& scenario, const CampaignOptions& options, CampaignResult& result)
      : scenario_(scenario), options_(options), result_(result) {}

  // False: the campaign need not go on.
  bool take(const json::object& line) {
    const std::int64_t cell = line.at("cell").as_int64();
    result_.executions += line.at("runs").to_number<int>();
    std::optional<Error> error = error_of(line);
    if (cell < 0) {
      if (error && !failed_) failed_ = std::move(error);
      return !failed_ && (cell != clean_stored || load_clean());
    }
    if (line.contains("childless")) {
      result_.deeper.childless += line.at("childless").to_number<int>();
      ++finished_;
      show_progress();
      return true;
    }
    if (const json::value* name = line.if_contains("name")) {
      take_deeper(std::string(name->as_string()), std::string(line.at("plan").as_string()),
                  line.at("windows").to_number<std::size_t>(), std::move(error));
      return true;
    }
    waiting_[static_cast<std::size_t>(cell)] = std::move(error);
    return !have_clean_ || judge_waiting();
  }

  [[nodiscard]] const std::optional<Error>& failed() const { return failed_; }

  void finish() {
    for (auto& [index, cell] : cells_) result_.cells.push_back(std::move(cell));
    for (auto& [name, cell] : deeper_) result_.deeper.cells.push_back(std::move(cell));
  }

 private:
  bool load_clean() {
    Result<History> clean = load_history(options_.out / (std::string(clean_name) + ".history.jsonl"));
    if (!clean) {
      failed_ = clean.error();
      return false;
    }
    result_.clean = std::move(*clean);
    result_.clean_verdict =
        judge(result_.clean, {.scenario = scenario_.name, .seed = options_.seed, .faults = {}}, terms_of(scenario_));
    result_.sweep = sweep_of(scenario_, options_, result_.clean);
    have_clean_ = true;
    return judge_waiting();
  }

  // Judges what is on disk under that name; what passed is removed unless it is to be kept.
  void judge_stored(const std::string& name, CellResult& done) {
    const fs::path file = options_.out / (name + ".history.jsonl");
    if (!done.error) {
      const Result<History> history = load_history(file);
      if (history) done.verdict = judge(*history, done.plan, terms_of(scenario_));
      if (!history) done.error = history.error();
    }
    const bool passed = !done.error && exit_code(done.verdict) == ExitCode::held;
    if (passed && !options_.keep_passes) {
      std::error_code ignored;
      fs::remove(file, ignored);
      fs::remove(options_.out / (name + ".output.txt"), ignored);
    } else {
      done.history = file;
    }
  }

  void take_deeper(const std::string& name, const std::string& text, std::size_t windows, std::optional<Error> error) {
    const Result<Plan> plan = parse_plan(text);
    CellResult done{.cell = {}, .plan = plan ? *plan : Plan{}, .verdict = {}, .error = std::move(error), .history = {}};
    if (!plan) done.error = plan.error();
    judge_stored(name, done);
    ++result_.deeper.plans[windows];
    if (!done.error && exit_code(done.verdict) == ExitCode::held) {
      ++result_.deeper.held;
    } else {
      deeper_.emplace(name, std::move(done));
    }
  }

  bool judge_waiting() {
    for (auto& [index, error] : std::exchange(waiting_, {})) {
      const SweepCell& cell = result_.sweep.cells.at(index);
      CellResult done{.cell = cell,
                      .plan = plan_of(scenario_, options_.seed, cell),
                      .verdict = {},
                      .error = std::move(error),
                      .history = {}};
      judge_stored(cell_name(index), done);
      if (!done.error && exit_code(done.verdict) == ExitCode::violated)
        first_violation_ = std::min(first_violation_, index);
      cells_.emplace(index, std::move(done));
    }
    if (!options_.exhaustive) finished_ = static_cast<int>(cells_.size());
    show_progress();
    if (!options_.stop_at_first_violation || first_violation_ == no_cell) return true;
    return static_cast<std::size_t>(std::distance(cells_.begin(), cells_.find(first_violation_))) < first_violation_;
  }

  void show_progress() const {
    if (options_.progress) options_.progress(finished_, static_cast<int>(result_.sweep.cells.size()));
  }

  const Scenario& scenario_;
  const CampaignOptions& options_;
  CampaignResult& result_;
  bool have_clean_ = false;
  std::optional<Error> failed_;
  std::map<std::size_t, std::optional<Error>> waiting_;
  std::map<std::size_t, CellResult> cells_;
  std::map<std::string, CellResult> deeper_;  // those that did not hold
  int finished_ = 0;                          // cells with all that is below them
  static constexpr std::size_t no_cell = ~std::size_t{0};
  std::size_t first_violation_ = no_cell;
};

// Reads the jobs' lines until all have ended, or the collector or a signal says stop.
void follow(std::vector<Job>& jobs, Collector& collector, CampaignResult& result) {
  const auto open = [&] { return std::any_of(jobs.begin(), jobs.end(), [](const Job& job) { return job.open; }); };
  while (open()) {
    std::vector<pollfd> fds;
    for (const Job& job : jobs) fds.push_back({.fd = job.open ? job.pipe.get() : -1, .events = POLLIN, .revents = 0});
    const int ready = ::poll(fds.data(), fds.size(), -1);
    if (interrupted_by != 0) {
      result.interrupted = true;
      return;
    }
    for (std::size_t i = 0; ready > 0 && i < jobs.size(); ++i) {
      if (fds[i].revents == 0) continue;
      char chunk[4096];
      const ssize_t got = ::read(jobs[i].pipe.get(), chunk, sizeof chunk);
      if (got <= 0) {
        jobs[i].open = false;
        continue;
      }
      jobs[i].buffer.append(chunk, static_cast<std::size_t>(got));
      for (std::size_t end; (end = jobs[i].buffer.find('\n')) != std::string::npos; jobs[i].buffer.erase(0, end + 1))
        if (!collector.take(json::parse(jobs[i].buffer.substr(0, end)).as_object())) return;
    }
  }
}

}  // namespace

ContractTerms terms_of(const Scenario& scenario) {
  ContractTerms terms{.keys = {}, .downstream_honours_key = scenario.downstream.honours_key};
  terms.objectives = scenario.objectives;
  if (scenario.on_doubt == OnDoubt::retry) terms.on_doubt = ContractTerms::OnDoubt::retry;
  if (scenario.on_doubt == OnDoubt::flag) terms.on_doubt = ContractTerms::OnDoubt::flag;
  terms.max_attempts = scenario.max_attempts;
  terms.failed_words = {scenario.failed_words.begin(), scenario.failed_words.end()};
  terms.eligible = scenario.eligible;
  terms.lease = scenario.lease;
  terms.recovery = scenario.recovery.count() > 0 ? scenario.recovery : 2 * scenario.lease;
  terms.quiet = scenario.quiet;
  terms.without = {scenario.without_invariants.begin(), scenario.without_invariants.end()};
  return terms;
}

ContractTerms terms_of(const Scenario& scenario, const Plan& plan) {
  ContractTerms terms = terms_of(scenario);
  for (const DrillRun& run : scenario.runs)
    if (run.plan == plan) terms.expectations = run.expected;
  return terms;
}

Result<CampaignResult> run_sweep(const Scenario& scenario, const CampaignOptions& options) {
  CampaignResult result;
  Collector collector(scenario, options, result);
  std::vector<Job> jobs;
  const std::vector<int> cpus = allowed_cpus();
  for (int i = 0; i < options.jobs; ++i) {
    Result<Job> job = start_job(scenario, options, i, cpus[static_cast<std::size_t>(i) % cpus.size()]);
    if (!job) return job.error();
    jobs.push_back(std::move(*job));
  }
  follow(jobs, collector, result);
  bool all_ended_well = true;
  for (Job& job : jobs) {
    // A job that is done has left; one that is not is not wanted any more. Its world ends with it.
    if (job.open) ::kill(job.pid, SIGKILL);
    int status = 0;
    while (::waitpid(job.pid, &status, 0) < 0 && errno == EINTR) {
    }
    if (!job.open && (!WIFEXITED(status) || WEXITSTATUS(status) != 0)) all_ended_well = false;
  }
  ScratchFolder::reclaim();
  if (collector.failed()) return *collector.failed();
  collector.finish();
  if (!all_ended_well)
    return Error{.message = "a job of the campaign died",
                 .mend = "this is a defect of ours; run with --jobs 1 to see where"};
  return result;
}

}  // namespace halfsent
