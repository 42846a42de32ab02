#include "harness/cli/campaign.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "harness/cli/campaign_job.h"
#include "harness/cli/progress.h"
#include "harness/cli/stored_run.h"
#include "harness/process/unique_fd.h"
#include "harness/world/scratch_folder.h"

namespace halfsent {

volatile std::sig_atomic_t interrupted_by = 0;

namespace {

namespace fs = std::filesystem;

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

Result<Job> start_job(const Scenario& scenario, const CampaignSpec& spec, const CampaignOptions& options,
                      const Tally& before, int index, int cpu) {
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
    run_job(scenario, spec, options, before, index, cpu, ends[1]);
    std::fflush(nullptr);
    ::_exit(0);
  }
  ::close(ends[1]);
  return job;
}

// The campaign's results on disk, line by line.
class ResultsFile {
 public:
  // A resumed file goes on after its last complete line.
  static Result<ResultsFile> open(const fs::path& folder, const CampaignSpec& spec, const StoredResults* resumed) {
    ResultsFile file(folder / results_name);
    file.fd_ = UniqueFd(::open(file.path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
    if (file.fd_.get() < 0) return file.failed();
    if (resumed != nullptr) {
      if (::ftruncate(file.fd_.get(), static_cast<off_t>(resumed->complete_bytes)) != 0) return file.failed();
      return file;
    }
    if (Result<void> begun = file.add(spec); !begun) return begun.error();
    return file;
  }

  Result<void> add(const Record& record) {
    const std::string line = to_line(record) + "\n";
    for (std::size_t at = 0; at < line.size();) {
      const ssize_t wrote = ::write(fd_.get(), line.data() + at, line.size() - at);
      if (wrote < 0 && errno != EINTR) return failed();
      if (wrote > 0) at += static_cast<std::size_t>(wrote);
    }
    return {};
  }

 private:
  explicit ResultsFile(fs::path path) : path_(std::move(path)) {}
  [[nodiscard]] Error failed() const {
    return {.message = "cannot write " + path_.string() + ": " + std::strerror(errno),
            .mend = "what was done before is kept there; make room, or choose another folder with --out"};
  }

  fs::path path_;
  UniqueFd fd_;
};

// Takes in what the jobs tell, in any order.
class Collector {
 public:
  Collector(const CampaignSpec& spec, const CampaignOptions& options, Tally& tally, ResultsFile file)
      : spec_(spec), options_(options), tally_(tally), file_(std::move(file)) {}

  // False: the campaign need not go on.
  bool take(std::string_view line) {
    const Result<Record> record = parse_record(line);
    if (!record) return fail({.message = "a job of the campaign speaks nonsense: " + record.error().message});
    if (const auto* failure = std::get_if<FailureRecord>(&*record)) return fail(failure->error);
    if (const auto* clean = std::get_if<CleanRecord>(&*record)) {
      if (tally_.clean()) return tally_.clean()->digest == clean->digest || fail(changed());
    }
    if (Result<void> kept = file_.add(*record); !kept) return fail(kept.error());
    tally_.take(*record, options_.out);
    if (std::holds_alternative<CleanRecord>(*record) && !count_units()) return false;
    if (std::holds_alternative<UnitRecord>(*record)) show_progress();
    if (options_.max_executions && tally_.executions() >= *options_.max_executions && !is_complete()) {
      capped_ = fmt::format("{} executions", *options_.max_executions);
      return false;
    }
    return !options_.stop_at_first_violation || !tally_.first_violation_is_known();
  }

  // REQUIRES: the execution without faults is known.
  bool count_units() {
    const Result<History> clean = load_history(options_.out / (std::string(clean_name) + ".history.jsonl"));
    if (!clean) return fail(clean.error());
    const SweepPlan plan = make_strategy(spec_.strategy, spec_.options)->first(*clean);
    for (std::size_t unit = 0; unit < plan.cells.size(); ++unit) units_ += has(spec_.shard, unit) ? 1 : 0;
    return true;
  }

  [[nodiscard]] const std::optional<Error>& failed() const { return failed_; }
  [[nodiscard]] const std::string& capped() const { return capped_; }
  [[nodiscard]] bool is_complete() const { return units_ >= 0 && tally_.units_done() == units_; }

 private:
  bool fail(Error error) {
    if (!failed_) failed_ = std::move(error);
    return false;
  }

  [[nodiscard]] Error changed() const {
    return {.code = ExitCode::diverged,
            .message = "two executions without faults went different ways",
            .mend = options_.resumed != nullptr
                        ? "if the system has changed since, start anew without --resume; if not, `halfsent replay` "
                          "with --repeat shows whether it repeats"
                        : "`halfsent replay` with --repeat shows whether it repeats"};
  }

  void show_progress() const {
    if (options_.progress) options_.progress(tally_.units_done(), units_);
  }

  const CampaignSpec& spec_;
  const CampaignOptions& options_;
  Tally& tally_;
  ResultsFile file_;
  int units_ = 0;
  std::string capped_;
  std::optional<Error> failed_;
};

enum class Ending { done, interrupted, budget };

// Reads the jobs' lines until all have ended, or the collector, the clock or a signal says stop.
Ending follow(std::vector<Job>& jobs, Collector& collector, const std::optional<double>& budget_s) {
  const Stopwatch watch;
  const auto open = [&] { return std::any_of(jobs.begin(), jobs.end(), [](const Job& job) { return job.open; }); };
  while (open()) {
    std::vector<pollfd> fds;
    for (const Job& job : jobs) fds.push_back({.fd = job.open ? job.pipe.get() : -1, .events = POLLIN, .revents = 0});
    const double left_s = budget_s ? *budget_s - watch.seconds() : 0;
    if (budget_s && left_s <= 0) return Ending::budget;
    const int wait_ms = budget_s ? static_cast<int>(std::min(left_s * 1000 + 1, 1e9)) : -1;
    const int ready = ::poll(fds.data(), fds.size(), wait_ms);
    if (interrupted_by != 0) return Ending::interrupted;
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
        if (!collector.take(std::string_view(jobs[i].buffer).substr(0, end))) return Ending::done;
    }
  }
  return Ending::done;
}

// A job that is done has left; one that is not is not wanted any more. Its world ends with it. False: one that had
// told all died badly.
bool end_all(std::vector<Job>& jobs) {
  bool well = true;
  for (Job& job : jobs) {
    if (job.open) ::kill(job.pid, SIGKILL);
    int status = 0;
    while (::waitpid(job.pid, &status, 0) < 0 && errno == EINTR) {
    }
    if (!job.open && (!WIFEXITED(status) || WEXITSTATUS(status) != 0)) well = false;
  }
  ScratchFolder::reclaim();
  return well;
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

CampaignSpec spec_of(const Scenario& scenario, std::uint64_t seed, const std::string& strategy) {
  CampaignSpec spec{.scenario = scenario.name,
                    .file = scenario.file.string(),
                    .strategy = strategy,
                    .options = {},
                    .without = scenario.without_invariants,
                    .expect_violation = scenario.expect_violation};
  // Past the lease by a second: then its holder is stale, whoever it is.
  spec.options = {.sweep = {.faults = scenario.sweep_faults,
                            .past_lease = scenario.lease + std::chrono::seconds{1},
                            .within_lease = scenario.lease / 2,
                            .failover_loses = scenario.ledger.failover_loses},
                  .bounds = {},
                  .seed = seed};
  if (const Result<std::string> text = read_text(scenario.file); text)
    spec.digest = fmt::format("{:016x}", XXH64(text->data(), text->size(), 0));
  return spec;
}

Result<void> add_record(const fs::path& folder, const Record& record) {
  const Result<StoredResults> there = load_results(folder);
  if (!there) return there.error();
  Result<ResultsFile> file = ResultsFile::open(folder, there->spec, &*there);
  if (!file) return file.error();
  return file->add(record);
}

Result<CampaignResult> run_campaign(const Scenario& scenario, const CampaignSpec& spec,
                                    const CampaignOptions& options) {
  Tally tally(spec);
  if (options.resumed != nullptr)
    for (const Record& record : options.resumed->records) tally.take(record, options.out);
  Result<ResultsFile> file = ResultsFile::open(options.out, spec, options.resumed);
  if (!file) return file.error();
  Collector collector(spec, options, tally, std::move(*file));
  if (tally.clean() && !collector.count_units()) return *collector.failed();
  std::vector<Job> jobs;
  const std::vector<int> cpus = allowed_cpus();
  for (int i = 0; i < options.jobs; ++i) {
    Result<Job> job = start_job(scenario, spec, options, tally, i, cpus[static_cast<std::size_t>(i) % cpus.size()]);
    if (!job) {
      end_all(jobs);
      return job.error();
    }
    jobs.push_back(std::move(*job));
  }
  const Ending ending = follow(jobs, collector, options.budget_s);
  const bool ended_well = end_all(jobs);
  if (collector.failed()) return *collector.failed();
  if (!ended_well)
    return Error{.message = "a job of the campaign died",
                 .mend = "this is a defect of ours; run with --jobs 1 to see where"};
  History clean;
  if (tally.clean()) {
    Result<History> stored = load_history(options.out / (std::string(clean_name) + ".history.jsonl"));
    if (!stored) return stored.error();
    clean = std::move(*stored);
  }
  CampaignResult result = tally.finish(std::move(clean));
  result.interrupted = ending == Ending::interrupted;
  result.capped = ending == Ending::budget ? fmt::format("{:g} s", *options.budget_s) : collector.capped();
  return result;
}

}  // namespace halfsent
