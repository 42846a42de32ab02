// A runner keeps what executions of one scenario share: sandbox, filter, files, ledger, and the histories of parents.
#include <sched.h>
#include <sys/stat.h>
#include <time.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <sstream>

#include "harness/intercept/filter.h"
#include "harness/process/launch.h"
#include "harness/world/engine.h"
#include "harness/world/execution.h"
#include "harness/world/scratch_folder.h"

namespace halfsent {
namespace {

namespace fs = std::filesystem;

struct WorldFile {
  fs::path name;  // relative to the world's working folder
  fs::perms mode{};
  std::string content;
  bool is_folder = false;
};

Result<WorldFile> read_file(const fs::path& from, const fs::path& name) {
  std::ifstream in(from, std::ios::binary);
  std::ostringstream content;
  content << in.rdbuf();
  if (!in)
    return Error{
        .code = ExitCode::usage, .message = "cannot read " + from.string(), .mend = "it is named in [world] files"};
  return WorldFile{.name = name, .mode = fs::status(from).permissions(), .content = content.str()};
}

// What lies in a worker's folder and is no part of it: what Python, git and we leave behind.
bool is_left_out(const fs::path& part) { return part == "__pycache__" || part == ".git" || part == "halfsent-runs"; }

// Folders are copied with their content, in the order of their names.
Result<std::vector<WorldFile>> read_files(const std::vector<fs::path>& sources) {
  std::vector<WorldFile> files;
  for (const fs::path& source : sources) {
    if (!fs::is_directory(source)) {
      Result<WorldFile> file = read_file(source, source.filename());
      if (!file) return file.error();
      files.push_back(std::move(*file));
      continue;
    }
    std::vector<fs::path> entries;
    for (const auto& entry : fs::recursive_directory_iterator(source)) entries.push_back(entry.path());
    std::sort(entries.begin(), entries.end());
    for (const fs::path& entry : entries) {
      const fs::path name = entry.lexically_relative(source);
      if (std::any_of(name.begin(), name.end(), is_left_out)) continue;
      if (fs::is_directory(entry)) {
        files.push_back({.name = name, .mode = fs::perms::owner_all, .content = {}, .is_folder = true});
        continue;
      }
      Result<WorldFile> file = read_file(entry, name);
      if (!file) return file.error();
      files.push_back(std::move(*file));
    }
  }
  return files;
}

Result<void> write_files(const std::vector<WorldFile>& files, const fs::path& folder) {
  for (const WorldFile& file : files) {
    std::error_code error;
    if (file.is_folder) {
      fs::create_directories(folder / file.name, error);
    } else {
      std::ofstream(folder / file.name, std::ios::binary) << file.content;
      fs::permissions(folder / file.name, file.mode, error);
    }
    if (error) return Error{.message = "cannot fill the world's folder: " + error.message()};
  }
  return {};
}

// The whole process moves to one CPU: see network_barrier.h.
int pin(int cpu) {
  cpu_set_t allowed;
  if (::sched_getaffinity(0, sizeof allowed, &allowed) != 0) return -1;
  for (int i = 0; cpu < 0 && i < CPU_SETSIZE; ++i)
    if (CPU_ISSET(i, &allowed)) cpu = i;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(cpu, &one);
  return ::sched_setaffinity(0, sizeof one, &one) == 0 ? cpu : -1;
}

// Histories of plans that are the parents of others, by how they were made. A few: a campaign asks for the children of
// one after another, and a long one must not need more memory than a short one.
class Parents {
 public:
  // Until the next `put`.
  [[nodiscard]] const History* find(const std::string& name) {
    const auto found = kept_.find(name);
    if (found == kept_.end()) return nullptr;
    found->second.used = ++now_;
    return &found->second.history;
  }

  void put(const std::string& name, History history) {
    kept_.insert_or_assign(name, Kept{.history = std::move(history), .used = ++now_});
    if (kept_.size() <= most) return;
    kept_.erase(std::min_element(kept_.begin(), kept_.end(),
                                 [](const auto& a, const auto& b) { return a.second.used < b.second.used; }));
  }

 private:
  static constexpr std::size_t most = 16;  // more than a plan has faults, in any campaign that ends
  struct Kept {
    History history;
    std::uint64_t used = 0;
  };
  std::map<std::string, Kept> kept_;
  std::uint64_t now_ = 0;
};

class SandboxRunner final : public Runner {
 public:
  SandboxRunner(Scenario scenario, ExecutionOptions options) : scenario_(std::move(scenario)), options_(options) {}

  Result<void> prepare();
  Result<Execution> run(const Plan& plan, StartMode start) override;
  [[nodiscard]] fs::path world_folder() const override { return sandbox_->root() / "cwd"; }

 private:
  Result<Execution> execute(const Plan& plan, std::span<const ResolvedFault> faults, std::span<const Event> prefix);
  Result<Execution> execute_once(const Plan& plan, std::span<const ResolvedFault> faults,
                                 std::span<const Event> prefix);
  Result<void> make_templates(std::uint64_t seed);
  [[nodiscard]] EngineSetup setup_for(std::uint64_t seed) const;
  Result<void> fill_world();

  Scenario scenario_;
  ExecutionOptions options_;
  std::optional<ScratchFolder> scratch_;
  std::unique_ptr<Sandbox> sandbox_;
  std::vector<sock_filter> filter_;
  std::vector<WorldFile> files_;
  Nanoseconds start_since_epoch_{0};
  int cpu_ = -1;
  Parents parents_;
  StartMode start_ = StartMode::execute;         // of the plan that is being run
  std::optional<std::uint64_t> templates_seed_;  // what they were made with
  ActorTemplates templates_;                     // die before the sandbox
};

Result<void> SandboxRunner::prepare() {
  Result<std::vector<sock_filter>> filter = build_filter(kLaunchExitMagic);
  if (!filter) return filter.error();
  filter_ = std::move(*filter);
  Result<std::vector<WorldFile>> files = read_files(scenario_.files);
  if (!files) return files.error();
  files_ = std::move(*files);
  cpu_ = pin(options_.cpu);
  Result<std::unique_ptr<Sandbox>> sandbox = Sandbox::create();
  if (!sandbox) return sandbox.error();
  sandbox_ = std::move(*sandbox);
  Result<ScratchFolder> scratch = ScratchFolder::create();
  if (!scratch) return scratch.error();
  scratch_.emplace(std::move(*scratch));
  // Midnight of the host's date: the day is real, the rest is the world's own.
  constexpr time_t day = 24 * 60 * 60;
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  start_since_epoch_ = std::chrono::seconds{now.tv_sec / day * day};

  // The ledger is made once, by us, and laid into each world as a file.
  if (!scenario_.ledger.setup.empty()) {
    const fs::path file = scratch_->path() / "template.db";
    if (Result<void> made = create_ledger(scenario_.ledger, file); !made) {
      Error error = made.error();
      if (error.file.empty()) error.file = scenario_.file.string();
      return error;
    }
    Result<WorldFile> ledger = read_file(file, scenario_.ledger.path);
    if (!ledger) return ledger.error();
    // A log of another database beside ours would be read as ours.
    const std::string name = fs::path(scenario_.ledger.path).lexically_normal();
    std::erase_if(files_, [&](const WorldFile& other) {
      const std::string path = other.name.lexically_normal();
      return path == name || path == name + "-wal" || path == name + "-shm" || path == name + "-journal";
    });
    files_.push_back(std::move(*ledger));
  }
  return {};
}

Result<void> SandboxRunner::fill_world() {
  if (Result<void> fresh = sandbox_->reset(); !fresh) return fresh.error();
  return write_files(files_, world_folder());
}

// What the scenario is to blame for carries its file.
Result<Execution> SandboxRunner::execute(const Plan& plan, std::span<const ResolvedFault> faults,
                                         std::span<const Event> prefix) {
  Result<Execution> done = execute_once(plan, faults, prefix);
  if (done || done.error().code != ExitCode::usage || !done.error().file.empty()) return done;
  Error error = done.error();
  error.file = scenario_.file.string();
  return error;
}

Result<Execution> SandboxRunner::execute_once(const Plan& plan, std::span<const ResolvedFault> faults,
                                              std::span<const Event> prefix) {
  const bool forks = start_ == StartMode::fork && scenario_.fork_server;
  if (forks && templates_seed_ != plan.seed) {
    if (Result<void> made = make_templates(plan.seed); !made) return made.error();
  }
  if (Result<void> filled = fill_world(); !filled) return filled.error();
  EngineSetup setup = setup_for(plan.seed);
  setup.faults = faults;
  setup.prefix = prefix;
  if (forks && !templates_.empty()) setup.templates = &templates_;
  bool template_failed = false;
  Result<Execution> execution = [&] {
    Engine engine(setup);
    Result<Execution> done = engine.run();
    template_failed = engine.template_failed();
    return done;
  }();
  if (!execution && template_failed) {
    templates_.clear();
    return execute_once(plan, faults, prefix);
  }
  if (execution) execution->history.plan = to_string(plan);
  return execution;
}

EngineSetup SandboxRunner::setup_for(std::uint64_t seed) const {
  return {.scenario = &scenario_,
          .sandbox = sandbox_.get(),
          .filter = filter_,
          .seed = seed,
          .start_since_epoch = start_since_epoch_,
          .scratch = scratch_->path(),
          .cpu = cpu_,
          .cpu_limit = options_.cpu_limit,
          .probe = options_.probe};
}

// One for each actor whose program allows it. Where one cannot be made its incarnations execute: that is no error.
Result<void> SandboxRunner::make_templates(std::uint64_t seed) {
  templates_.clear();
  templates_seed_ = seed;
  for (const ActorConfig& config : scenario_.actors) {
    for (int n = 1; n <= config.count; ++n) {
      if (Result<void> filled = fill_world(); !filled) return filled.error();
      const std::string name = config.name + "-" + std::to_string(n);
      Engine engine(setup_for(seed));
      Result<std::optional<ActorTemplate>> made = engine.make_template(name);
      if (made && *made) templates_.emplace(name, std::move(**made));
    }
  }
  return {};
}

// Resolves the faults one after another, each in the history of the plan with those before it.
Result<Execution> SandboxRunner::run(const Plan& plan, StartMode start) {
  start_ = start;
  std::vector<ResolvedFault> resolved;
  std::vector<ResolvedFault> open;
  Plan known{.scenario = plan.scenario, .seed = plan.seed, .faults = {}};
  for (std::size_t i = 0; i < plan.faults.size(); ++i) {
    const Fault& fault = plan.faults[i];
    (fault.at ? open : resolved).push_back({.index = static_cast<int>(i), .fault = fault});
    if (!fault.at) known.faults.push_back(fault);
  }
  std::vector<Event> prefix;
  Seq last = 0;
  while (true) {
    std::string name = to_string(known);
    for (const ResolvedFault& fault : resolved) name += "/" + std::to_string(fault.index);
    if (open.empty()) {
      Result<Execution> last_one = execute(plan, resolved, prefix);
      if (last_one && start == StartMode::fork) parents_.put(name, last_one->history);  // a campaign may go on from it
      return last_one;
    }
    if (parents_.find(name) == nullptr) {
      Result<Execution> parent = execute(known, resolved, prefix);
      if (!parent) return parent.error();
      parents_.put(name, std::move(parent->history));
    }
    const History& parent = *parents_.find(name);
    const std::vector<Boundary> boundaries = name_boundaries(parent);
    auto next = open.end();
    for (auto fault = open.begin(); fault != open.end(); ++fault) {
      const auto is_before = [&](const ResolvedFault& other) { return other.index < fault->index; };
      if (fault->fault.then && std::any_of(open.begin(), open.end(), is_before)) continue;
      const std::optional<Seq> at = resolve(fault->fault, boundaries);
      if (!at || *at < last) continue;
      fault->at = *at;
      if (next == open.end() || fault->at < next->at) next = fault;
    }
    if (next == open.end()) return execute(plan, resolved, prefix);  // the rest is never reached
    last = next->at;
    prefix.assign(parent.events.begin(), parent.events.begin() + static_cast<std::ptrdiff_t>(last) + 1);
    resolved.push_back(*next);
    known.faults.push_back(next->fault);
    open.erase(next);
  }
}

}  // namespace

Result<std::unique_ptr<Runner>> Runner::create(Scenario scenario, ExecutionOptions options) {
  auto runner = std::make_unique<SandboxRunner>(std::move(scenario), options);
  if (Result<void> ready = runner->prepare(); !ready) return ready.error();
  return std::unique_ptr<Runner>(std::move(runner));
}

}  // namespace halfsent
