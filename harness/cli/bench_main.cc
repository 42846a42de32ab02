// Benchmarks: executions per second of each system, beside the floors that the machine sets, all measured in one run.
//
// What counts is the ratio of two numbers of the same run; absolute times say as much about the machine as about us.
#include <fmt/format.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string_view>
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

// This program in its other role: makes `calls` system calls that stop.
int make_stops(int calls) {
  timespec now{};
  for (int i = 0; i < calls; ++i) ::syscall(SYS_clock_gettime, CLOCK_REALTIME, &now);
  return 0;
}

// The least that a stop can cost: noticed by poll, received, let go on, and nothing else done.
double stop_round_trip(Sandbox& sandbox) {
  constexpr int calls = 20'000;
  const Result<std::vector<sock_filter>> filter = build_filter(kLaunchExitMagic);
  if (!filter) return -1;
  const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
  Result<Launched> launched =
      launch(sandbox, {.argv = {self, "--make-stops", std::to_string(calls)}, .envp = {}, .filter = *filter});
  if (!launched) return -1;
  int stops = 0;
  const Clock::time_point start = Clock::now();
  for (;;) {
    pollfd fds[] = {{.fd = launched->listener.get(), .events = POLLIN, .revents = 0},
                    {.fd = launched->pidfd.get(), .events = POLLIN, .revents = 0}};
    if (::poll(fds, 2, -1) < 0 || fds[1].revents != 0) break;
    const std::optional<seccomp_notif> stop = receive(launched->listener.get());
    if (stop && let_continue(launched->listener.get(), stop->id)) ++stops;
  }
  const double seconds = seconds_since(start);
  return reap(launched->pid) && stops >= calls ? seconds / stops : -1;
}

// A whole clean execution, divided by its stops.
double time_per_stop(const Scenario& scenario) {
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

constexpr const char* job = "4187:2026-W33";

// One worker, one job.
Scenario unit(Scenario scenario) {
  scenario.actors.at(0).count = 1;
  scenario.ledger.setup += fmt::format("\nDELETE FROM digest_jobs WHERE digest_key <> '{}';", job);
  return scenario;
}

// Six virtual hours in which there is nothing to do but to look, every 5 s.
Scenario idle(Scenario scenario) {
  scenario = unit(std::move(scenario));
  scenario.ledger.setup += "\nUPDATE digest_jobs SET due_at = 1000000000000;";
  scenario.horizon = std::chrono::hours{6};
  return scenario;
}

void executions(const std::string& name, const Scenario& scenario, double exec_floor) {
  const Result<Plan> plan =
      parse_plan(fmt::format("scenario {}; kill worker-1 at after_accept {}", scenario.name, job));
  Result<std::unique_ptr<Runner>> runner = Runner::create(scenario);
  if (!plan || !runner) return line(name, -1);
  std::uint64_t stops = 0;
  int forked = 0;
  const double seconds = time_of(3, [&] {
    const Result<Execution> execution = (*runner)->run(*plan, StartMode::fork);
    if (execution) stops = execution->stops, forked = execution->forked;
    return static_cast<bool>(execution);
  });
  line(name, seconds,
       fmt::format("{} stops, {} incarnations forked, {:.1f} us a stop, {:.0f} x exec", stops, forked,
                   seconds * 1e6 / static_cast<double>(stops), seconds / exec_floor));
}

// The unit again and again, for a profiler.
int repeat_unit(int times) {
  const Result<Scenario> scenario = load_scenario("scenarios/polling_cpp.toml");
  const Result<Plan> plan = parse_plan(fmt::format("scenario polling_cpp; kill worker-1 at after_accept {}", job));
  if (!scenario || !plan) return 2;
  Result<std::unique_ptr<Runner>> runner = Runner::create(unit(*scenario));
  if (!runner) return 3;
  for (int i = 0; i < times; ++i)
    if (!(*runner)->run(*plan, StartMode::fork)) return 3;
  return 0;
}

void six_hours(const std::string& name, const Scenario& scenario) {
  const std::string title = name + ", 6 h idle at a 5 s poll";
  Result<std::unique_ptr<Runner>> runner = Runner::create(scenario);
  if (!runner) return line(title, -1);
  const Clock::time_point start = Clock::now();
  const Result<Execution> execution = (*runner)->run({.scenario = scenario.name, .faults = {}});
  if (!execution) return line(title, -1);
  const double seconds = seconds_since(start);
  line(title, seconds,
       fmt::format("{} stops, {:.1f} us a stop", execution->stops,
                   seconds * 1e6 / static_cast<double>(execution->stops)));
}

int run(const std::filesystem::path& scenarios) {
  // One CPU for all of it, as a world and its harness have: floors on two would be the price of waking the other one.
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(::sched_getcpu(), &one);
  ::sched_setaffinity(0, sizeof one, &one);
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
  line("stop round trip", stop_round_trip(**sandbox));
  line("reset of a sandbox", time_of(1, [&] { return static_cast<bool>((*sandbox)->reset()); }));
  sandbox->reset();

  fmt::print("\nexecutions, as in a sweep (one world on one CPU; kill at after_accept, restart, second incarnation)\n");
  for (const char* name : {"polling_cpp", "polling_python", "polling_python_naive"}) {
    Result<Scenario> scenario = load_scenario(scenarios / (std::string(name) + ".toml"));
    if (!scenario) {
      fmt::print(stderr, "halfsent_bench: {}\n", scenario.error().to_string());
      return 2;
    }
    if (name == std::string_view("polling_cpp"))
      executions("the unit: polling_cpp, 1 worker, 1 job", unit(*scenario), exec_floor);
    executions(name, *scenario, exec_floor);
    line(std::string(name) + ", a stop of the clean run", time_per_stop(*scenario), "all costs spread over the stops");
    six_hours(name, idle(*scenario));
  }
  return 0;
}

}  // namespace
}  // namespace halfsent

int main(int argc, char** argv) {
  if (argc == 3 && std::string_view(argv[1]) == "--make-stops") return halfsent::make_stops(std::atoi(argv[2]));
  if (argc == 3 && std::string_view(argv[1]) == "--unit") return halfsent::repeat_unit(std::atoi(argv[2]));
  return halfsent::run(argc > 1 ? argv[1] : "scenarios");
}
