// Runs that cannot be judged, and what they say: deadlocks, spinning, floods, unsupported calls. And nothing is left
// behind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "harness/world/world_test_support.h"

namespace halfsent {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;

constexpr const char* two_locks = R"(
import fcntl, sys, time
first = open(sys.argv[1], 'w')
second = open(sys.argv[2], 'w')
def lock(f):
    fcntl.flock(f, fcntl.LOCK_EX) if sys.argv[3] == 'flock' else fcntl.lockf(f, fcntl.LOCK_EX)
lock(first)
time.sleep(1)
lock(second)
)";

TEST_F(Worlds, ADeadlockOfTwoFlocksNamesBothSides) {
  use(scenario({{"python3", "-c", two_locks, "x", "y", "flock"}, {"python3", "-c", two_locks, "y", "x", "flock"}}));
  const Execution execution = expect_one_digest();
  EXPECT_EQ(finish_of(execution).reason, "deadlock");
  EXPECT_EQ(finish_of(execution).detail,
            "a-1 waits in flock for y, held by b-1; b-1 waits in flock for x, held by a-1");
}

// The kernel sees the cycle of two POSIX locks: the second one to wait gets EDEADLK, and the first one goes on.
TEST_F(Worlds, ADeadlockOfTwoPosixLocksIsRefusedAsByTheKernel) {
  use(scenario({{"python3", "-c", two_locks, "x", "y", "lockf"}, {"python3", "-c", two_locks, "y", "x", "lockf"}}));
  const Execution execution = expect_one_digest();
  EXPECT_EQ(finish_of(execution).reason, "all exited") << finish_of(execution).detail;
  EXPECT_EQ(exit_code_of(execution, "a-1"), 0);
  EXPECT_EQ(exit_code_of(execution, "b-1"), 1);
  EXPECT_THAT(output_of(execution, "b-1"), HasSubstr("Resource deadlock avoided"));
}

TEST_F(Worlds, ADeadReadOfAPipeNamesWhoHoldsTheOtherEnd) {
  const Execution execution = run_python(R"(
import os
r, w = os.pipe()
if os.fork() == 0:
    os.read(r, 1)
    os._exit(0)
os.close(r)
os.wait()
)");
  EXPECT_EQ(finish_of(execution).reason, "deadlock");
  EXPECT_EQ(finish_of(execution).detail,
            "a-1 waits in wait4 for child; a-1/1 waits in read for pipe, whose other end is held by a-1 and a-1/1");
}

TEST_F(Worlds, ALoopWithoutASystemCallSpins) {
  use(scenario({shell("sleep 1000"), python("while True: pass")}), {.cpu_limit = 200ms});
  const Execution execution = run();
  EXPECT_EQ(finish_of(execution).reason, "spins");
  EXPECT_THAT(finish_of(execution).detail, AllOf(HasSubstr("b-1"), HasSubstr("200 ms")));
}

TEST_F(Worlds, AFloodOfOutputEndsTheRun) {
  const Execution execution = run_python("while True: print('x' * 100000)");
  EXPECT_EQ(finish_of(execution).reason, "output");
  EXPECT_THAT(finish_of(execution).detail, HasSubstr("a-1"));
  ASSERT_EQ(execution.output.size(), 1U);
  EXPECT_TRUE(execution.output[0].truncated);
  EXPECT_LE(execution.output[0].text.size(), 1U << 20);
}

TEST_F(Worlds, ForksWithoutEndEndTheRun) {
  const Execution execution = run_python("import os, signal\nwhile True:\n    if os.fork() == 0: signal.pause()");
  EXPECT_EQ(finish_of(execution).reason, "too many processes");
  EXPECT_THAT(finish_of(execution).detail, HasSubstr("a-1"));
  runner_.reset();  // and the world can be ended
}

TEST_F(Worlds, AForkBombEndsTheRun) {
  const Execution execution = run_python("import os\nwhile True: os.fork()");
  EXPECT_EQ(finish_of(execution).reason, "too many processes");
  runner_.reset();
}

TEST_F(Worlds, AWaitWithATimeOutThatIsNotOursIsNamed) {
  for (const char* mode : {"semtimedop", "mq"}) {
    const Execution execution = run_alone(program({mode, "5"}));
    EXPECT_EQ(finish_of(execution).reason,
              std::string("unsupported wait ") + (mode[0] == 'm' ? "mq_timedreceive" : "semtimedop"));
    EXPECT_THAT(finish_of(execution).detail, HasSubstr("a-1"));
  }
}

TEST_F(Worlds, AnEndThatNobodyAskedForIsInTheHistory) {
  const Execution execution = run_alone(shell("echo bad >&2; exit 23"));
  const auto ends = events_of<Ended>(execution, "a-1");
  ASSERT_EQ(ends.size(), 1U);
  EXPECT_EQ(std::get<Ended>(ends[0]->body), (Ended{Ended::How::exited, 23}));
  EXPECT_EQ(output_of(execution), "bad\n");
}

TEST_F(Worlds, ASupervisorRestartsWhatEndsByItself) {
  Scenario restarted = scenario({shell("exit 1")});
  restarted.actors[0].on_exit = ActorConfig::OnExit::restart;
  restarted.horizon = 3min + 1s;  // after 1, 2, 4, 8, 16, 32, 32, 32, 32 s
  use(std::move(restarted));
  const Execution execution = run();
  EXPECT_EQ(finish_of(execution).reason, "horizon");
  EXPECT_EQ(events_of<Started>(execution, "a-1").size(), 10U);
}

TEST_F(Worlds, WhatHasLivedForAMinuteIsRestartedAtOnce) {
  Scenario restarted = scenario({shell("sleep 60; exit 1")});
  restarted.actors[0].on_exit = ActorConfig::OnExit::restart;
  restarted.horizon = 5min;
  use(std::move(restarted));
  EXPECT_EQ(events_of<Started>(run(), "a-1").size(), 5U);
}

TEST_F(Worlds, TwoRowsOfOneKeyAreAScenarioErrorBeforeAnybodyRunsAndTheSystemsDoingAfterwards) {
  Scenario doubled = scenario({shell("sqlite3 ledger.db \"INSERT INTO twice VALUES ('k', 'pending')\"")});
  doubled.ledger.setup += ";CREATE TABLE twice (k, s); INSERT INTO twice VALUES ('k', 'delivered');";
  doubled.ledger.rows = "SELECT k AS key, s AS state FROM twice";
  use(doubled);
  const Execution execution = run();
  const auto changes = events_of<LedgerChanged>(execution, "a-1");
  ASSERT_EQ(changes.size(), 1U) << story(execution);
  EXPECT_EQ(std::get<LedgerChanged>(changes[0]->body).rows, 2);
  EXPECT_EQ(std::get<LedgerChanged>(changes[0]->body).to, JobState::pending);

  doubled.ledger.setup += "INSERT INTO twice VALUES ('k', 'pending');";
  use(doubled);
  const Result<Execution> refused = runner_->run({.scenario = "test", .seed = 1, .faults = {}});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ExitCode::usage);
  EXPECT_THAT(refused.error().message, HasSubstr("the key k 2 times before anybody has run"));
}

TEST_F(Worlds, ACommandThatIsNotThereIsAUsageError) {
  use(scenario({{"no-such-program"}}));
  const Result<Execution> execution = runner_->run({.scenario = "test", .seed = 1, .faults = {}});
  ASSERT_FALSE(execution);
  EXPECT_EQ(execution.error().code, ExitCode::usage);
  EXPECT_THAT(execution.error().message, HasSubstr("a-1"));
}

TEST_F(Worlds, AFileOutsideOpenedForWritingIsNoted) {
  const std::string outside = (folder_ / "outside.txt").string();
  const Execution execution = run_alone(shell("echo x > " + outside + "; echo y > " + outside));
  const auto notes = events_of<Note>(execution, "a-1");
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_THAT(std::get<Note>(notes[0]->body).text, AllOf(HasSubstr("outside the world"), HasSubstr(outside)));
}

// Living processes that have this word among their arguments.
int count_processes(const std::string& word) {
  int found = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    std::ifstream in(entry.path() / "cmdline");
    const std::string line{std::istreambuf_iterator<char>(in), {}};
    if (line.find(word) != std::string::npos) ++found;
  }
  return found;
}

// Scratch folders that we hold open. (Other tests, which may run at the same time, have theirs.)
std::vector<std::filesystem::path> our_scratch_folders() {
  std::vector<std::filesystem::path> folders;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    const std::filesystem::path target = std::filesystem::read_symlink(entry.path(), gone);
    if (target.filename().string().starts_with("halfsent-scratch-")) folders.push_back(target);
  }
  return folders;
}

TEST_F(Worlds, NothingIsLeftBehind) {
  const std::string mark = "mark-" + std::to_string(::getpid());
  Scenario unruly =
      scenario({{"sh", "-c", "setsid sh -c 'sleep 100000; :' " + mark + " & sleep 100000 & exit 0", mark}});
  unruly.horizon = 1min;
  use(std::move(unruly));
  const Execution execution = run();
  EXPECT_EQ(finish_of(execution).reason, "horizon");
  EXPECT_EQ(count_processes(mark), 0);
  const auto scratch = our_scratch_folders();
  ASSERT_EQ(scratch.size(), 1U);
  EXPECT_TRUE(std::filesystem::exists(scratch[0]));
  runner_.reset();
  EXPECT_FALSE(std::filesystem::exists(scratch[0]));
}

}  // namespace
}  // namespace halfsent
