// Benchmarks: executions per second of each system, beside the floors that the machine sets, all measured in one run.
//
// What counts is the ratio of two numbers of the same run; absolute times say as much about the machine as about us.
#include <fmt/format.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <vector>

#include "harness/intercept/filter.h"
#include "harness/intercept/listener.h"
#include "harness/process/death.h"
#include "harness/process/launch.h"
#include "harness/world/execution.h"

namespace halfsent {
namespace {

using Clock = std::chrono::steady_clock;  // real time is what is measured here

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// Runs `what` for about `budget_s` seconds, at least three times; the time of one run in seconds.
double time_of(double budget_s, const std::function<bool()>& what) {
  if (!what()) return -1;  // warm up
  int runs = 0;
  const Clock::time_point start = Clock::now();
  while (runs < 3 || seconds_since(start) < budget_s) {
    if (!what()) return -1;
    ++runs;
  }
  return seconds_since(start) / runs;
}

bool fork_kill_wait() {
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::pause();
    ::_exit(0);
  }
  ::kill(pid, SIGKILL);
  return ::waitpid(pid, nullptr, 0) == pid;
}

bool open_sqlite(const std::string& file) {
  sqlite3* database = nullptr;
  const bool opened =
      sqlite3_open_v2(file.c_str(), &database, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nullptr) == SQLITE_OK &&
      sqlite3_exec(database, "SELECT count(*) FROM sqlite_master", nullptr, nullptr, nullptr) == SQLITE_OK;
  sqlite3_close(database);
  return opened;
}

bool launch_true(Sandbox& sandbox) {
  Result<Launched> launched = launch(sandbox, {.argv = {"/bin/true"}, .envp = {}});
  return launched && reap(launched->pid);
}

// The mean time from our answer to the next stop: a shell that reads the clock of nobody else.
double stop_round_trip(const Scenario& scenario) {
  Result<std::unique_ptr<Runner>> runner = Runner::create(scenario);
  if (!runner) return -1;
  const Plan plan{.scenario = scenario.name, .faults = {}};
  const Result<Execution> first = (*runner)->run(plan);
  if (!first) return -1;
  const Clock::time_point start = Clock::now();
  const Result<Execution> execution = (*runner)->run(plan);
  return execution ? seconds_since(start) / static_cast<double>(execution->stops) : -1;
}

void line(const std::string& name, double seconds, const std::string& note = {}) {
  if (seconds < 0) {
    fmt::print("{:<44} not measured\n", name);
  } else {
    fmt::print("{:<44} {:>10.1f} us {:>10.1f} /s  {}\n", name, seconds * 1e6, 1 / seconds, note);
  }
}

int run(const std::filesystem::path& scenarios) {
  Result<std::unique_ptr<Sandbox>> sandbox = Sandbox::create();
  if (!sandbox) {
    fmt::print(stderr, "halfsent_bench: {}\n", sandbox.error().to_string());
    return 3;
  }
  fmt::print("floors\n");
  const double fork_floor = time_of(1, fork_kill_wait);
  line("fork + kill + wait", fork_floor);
  const double exec_floor = time_of(1, [&] { return launch_true(**sandbox); });
  line("exec of /bin/true in a sandbox", exec_floor);
  line("SQLite open + first read", time_of(1, [] { return open_sqlite("/dev/shm/halfsent-bench.db"); }));
  std::filesystem::remove("/dev/shm/halfsent-bench.db");
  line("reset of a sandbox", time_of(1, [&] { return static_cast<bool>((*sandbox)->reset()); }));
  sandbox->reset();

  fmt::print("\nexecutions (one world on one CPU; kill at after_accept, restart, second incarnation)\n");
  for (const char* name : {"polling_cpp", "polling_python", "polling_python_naive"}) {
    Result<Scenario> scenario = load_scenario(scenarios / (std::string(name) + ".toml"));
    if (!scenario) {
      fmt::print(stderr, "halfsent_bench: {}\n", scenario.error().to_string());
      return 2;
    }
    const Result<Plan> plan = parse_plan(fmt::format("scenario {}; kill worker-1 at after_accept 4187:2026-W33", name));
    Result<std::unique_ptr<Runner>> runner = Runner::create(*scenario);
    if (!plan || !runner) return 3;
    std::uint64_t stops = 0;
    const double seconds = time_of(3, [&] {
      const Result<Execution> execution = (*runner)->run(*plan);
      if (execution) stops = execution->stops;
      return static_cast<bool>(execution);
    });
    line(name, seconds,
         fmt::format("{} stops, {:.1f} us a stop, {:.0f} x exec", stops, seconds * 1e6 / static_cast<double>(stops),
                     seconds / exec_floor));
    runner->reset();
    line(std::string(name) + ", a stop of the clean run", stop_round_trip(*scenario),
         "all costs spread over the stops");
  }
  return 0;
}

}  // namespace
}  // namespace halfsent

int main(int argc, char** argv) { return halfsent::run(argc > 1 ? argv[1] : "scenarios"); }
