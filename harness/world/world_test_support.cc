#include "harness/world/world_test_support.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>

namespace halfsent {
namespace {

namespace fs = std::filesystem;

std::string quoted(const std::string& word) {
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

int repeats() {
  const char* text = ::getenv("HALFSENT_TEST_REPEATS");
  return text == nullptr ? 10 : std::max(2, std::atoi(text));
}

}  // namespace

void Worlds::SetUp() {
  std::string name = testing::TempDir() + "halfsent-world-XXXXXX";
  ASSERT_NE(::mkdtemp(name.data()), nullptr);
  folder_ = name;
  fs::create_directory(folder_ / "files");
}

void Worlds::TearDown() {
  runner_.reset();
  fs::remove_all(folder_);
}

void Worlds::write(const std::string& name, std::string_view text) const {
  std::ofstream(folder_ / "files" / name) << text;
}

Scenario Worlds::scenario(const std::vector<Command>& commands) const {
  Scenario scenario;
  scenario.name = "test";
  scenario.file = folder_ / "test.toml";
  scenario.files = {folder_ / "files"};
  scenario.horizon = std::chrono::hours{100};
  scenario.ledger = {
      .kind = "sqlite",
      .path = "ledger.db",
      .setup = "CREATE TABLE jobs (k TEXT, s TEXT); INSERT INTO jobs VALUES ('k1', 'pending');",
      .rows = "SELECT k AS key, s AS state FROM jobs",
      .states = {{"pending", JobState::pending}, {"leased", JobState::leased}, {"done", JobState::delivered}}};
  scenario.downstream.key = {.kind = KeySource::Kind::header, .where = "Idempotency-Key"};
  for (std::size_t i = 0; i < commands.size(); ++i) {
    ActorConfig actor;
    actor.name = std::string(1, static_cast<char>('a' + i));
    actor.command = commands[i];
    scenario.actors.push_back(std::move(actor));
  }
  return scenario;
}

void Worlds::use(Scenario scenario, ExecutionOptions options) {
  runner_.reset();  // one world at a time is enough
  Result<std::unique_ptr<Runner>> runner = Runner::create(std::move(scenario), options);
  if (!runner) FAIL() << runner.error().to_string();
  runner_ = std::move(*runner);
}

Execution Worlds::run(std::string_view faults, std::uint64_t seed, StartMode start) {
  if (runner_ == nullptr) return {};
  std::string text = "scenario test; seed " + std::to_string(seed);
  if (!faults.empty()) text += "; " + std::string(faults);
  const Result<Plan> plan = parse_plan(text);
  if (!plan) {
    ADD_FAILURE() << plan.error().to_string();
    return {};
  }
  Result<Execution> execution = runner_->run(*plan, start);
  if (!execution) {
    ADD_FAILURE() << execution.error().to_string();
    return {};
  }
  return std::move(*execution);
}

Execution Worlds::run_alone(const Command& command) {
  use(scenario({command}));
  return run();
}

Execution Worlds::run_python(std::string_view text) { return run_alone(python(text)); }

Execution Worlds::expect_one_digest(std::string_view faults) {
  Execution first = run(faults);
  const std::string digest_of_first = digest(first.history);
  for (int i = 1; i < repeats(); ++i) {
    Execution next = run(faults);
    if (digest(next.history) == digest_of_first) continue;
    ADD_FAILURE() << "run " << i + 1 << " differs from the first\n--- first\n"
                  << story(first) << "--- this one\n"
                  << story(next);
    break;
  }
  return first;
}

RealRun Worlds::run_really(const Command& command) const {
  std::string line = "cd " + quoted((folder_ / "files").string()) + " && exec";
  for (const std::string& word : command) line += " " + quoted(word);
  RealRun result;
  FILE* pipe = ::popen(("exec 2>&1; PATH=/usr/bin:/bin; export PATH; " + line).c_str(), "r");
  if (pipe == nullptr) {
    ADD_FAILURE() << "popen failed";
    return result;
  }
  char chunk[4096];
  for (std::size_t got = 0; (got = ::fread(chunk, 1, sizeof chunk, pipe)) > 0;) result.output.append(chunk, got);
  const int status = ::pclose(pipe);
  result.exit_code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  return result;
}

Worlds::Command Worlds::program(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), HALFSENT_TEST_PROGRAM);
  return arguments;
}

std::string output_of(const Execution& execution, const std::string& actor, int incarnation) {
  for (const WorkerOutput& output : execution.output)
    if (output.actor == actor && output.incarnation == incarnation) return output.text;
  return "(no output of " + actor + ")";
}

const Finished& finish_of(const Execution& execution) {
  static const Finished none{.reason = "(no end)"};
  if (execution.history.events.empty()) return none;
  const auto* finished = std::get_if<Finished>(&execution.history.events.back().body);
  return finished == nullptr ? none : *finished;
}

int exit_code_of(const Execution& execution, const std::string& actor, int process) {
  for (const Event& event : execution.history.events) {
    const auto* ended = std::get_if<Ended>(&event.body);
    if (ended == nullptr || event.actor != actor || event.process != process) continue;
    if (ended->how == Ended::How::exited) return ended->code;
    if (ended->how == Ended::How::signalled) return 128 + ended->code;
    return -1;
  }
  return -1;
}

Nanoseconds duration_of(const Execution& execution, const std::string& actor) {
  Nanoseconds start{0};
  for (const Event& event : execution.history.events) {
    if (event.actor != actor || event.process != 0) continue;
    if (std::holds_alternative<Started>(event.body)) start = event.at;
    if (std::holds_alternative<Ended>(event.body)) return event.at - start;
  }
  return Nanoseconds{-1};
}

std::string story(const Execution& execution) {
  std::string text;
  for (const Event& event : execution.history.events) text += to_json_line(event) + "\n";
  for (const WorkerOutput& output : execution.output) text += "== " + output.actor + "\n" + output.text;
  return text;
}

}  // namespace halfsent
