// Small worlds for tests: a folder with the workers' files, a scenario made in the test, and what came of it.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "harness/world/execution.h"

namespace halfsent {

// What a program does without any harness: the oracle of the tests about time and signals.
struct RealRun {
  int exit_code = 0;  // as a shell has it: 128 + N when signal N ended it
  std::string output;
};

class Worlds : public testing::Test {
 protected:
  using Command = std::vector<std::string>;

  void SetUp() override;
  void TearDown() override;

  void write(const std::string& name, std::string_view text) const;

  // A scenario with one actor of one instance for each command ("a", "b", ... so that actors are a-1, b-1, ...) and a
  // ledger with one row that nobody settles: a run ends when all have exited.
  [[nodiscard]] Scenario scenario(const std::vector<Command>& commands) const;
  // Makes the runner that run() uses.
  void use(Scenario scenario, ExecutionOptions options = {});
  // Runs `faults` (a plan without its first words). Fails the test on an error, and returns an empty execution then.
  Execution run(std::string_view faults = "", std::uint64_t seed = 1, StartMode start = StartMode::execute);
  Execution run_alone(const Command& command);  // use + run
  Execution run_python(std::string_view text);  // the same for one Python program

  // Runs the plan as often as HALFSENT_TEST_REPEATS says (10 when it is not set): one digest each time. Returns the
  // last one.
  Execution expect_one_digest(std::string_view faults = "");

  [[nodiscard]] RealRun run_really(const Command& command) const;

  // The program with many little modes that is built beside the tests, and Python as the world finds it.
  [[nodiscard]] static Command program(std::vector<std::string> arguments);
  [[nodiscard]] static Command python(std::string_view text) { return {"python3", "-c", std::string(text)}; }
  [[nodiscard]] static Command shell(std::string_view text) { return {"sh", "-c", std::string(text)}; }

  std::filesystem::path folder_;
  std::unique_ptr<Runner> runner_;
};

// --- Questions about an execution.
std::string output_of(const Execution& execution, const std::string& actor = "a-1", int incarnation = 1);
const Finished& finish_of(const Execution& execution);
// As a shell has it; -1: the process has not ended by itself or by a signal (of another one than the plan).
int exit_code_of(const Execution& execution, const std::string& actor = "a-1", int process = 0);
// Virtual time from the first incarnation's start to its end.
Nanoseconds duration_of(const Execution& execution, const std::string& actor = "a-1");
// Indices of the events with a body of this type that belong to the actor.
template <class Body>
std::vector<const Event*> events_of(const Execution& execution, const std::string& actor) {
  std::vector<const Event*> found;
  for (const Event& event : execution.history.events)
    if (event.actor == actor && std::holds_alternative<Body>(event.body)) found.push_back(&event);
  return found;
}
// The whole history, for messages of failed tests.
std::string story(const Execution& execution);

}  // namespace halfsent
