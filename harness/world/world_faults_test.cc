// Faults of plans, each on a real process.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "harness/world/world_test_support.h"

namespace halfsent {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::SizeIs;

// Sends k1 and says what came of it.
constexpr const char* sender = R"(
import http.client, os, time
start = time.monotonic()
try:
    c = http.client.HTTPConnection('127.0.0.1', 8080, timeout=10)
    c.request('POST', '/send', 'body', {'Idempotency-Key': 'k1'})
    r = c.getresponse()
    print(r.status, end=' ', flush=True)
    r.read()
    print('read', end=' ')
except Exception as e:
    print(type(e).__name__, end=' ')
print(round(time.monotonic() - start))
)";

class Faults : public Worlds {
 protected:
  Execution send(std::string_view faults) {
    use(scenario({python(sender)}));
    return run(faults);
  }
};

TEST_F(Faults, ADownstreamThatIsLeftAloneAnswers) { EXPECT_EQ(output_of(send("")), "200 read 0\n"); }
TEST_F(Faults, AStatusIsSeenByTheWorker) {
  EXPECT_EQ(output_of(send("status downstream 503 at after_accept")), "503 read 0\n");
}
TEST_F(Faults, ADropIsAnEndWithoutAnswer) {
  EXPECT_EQ(output_of(send("drop downstream at after_accept")), "RemoteDisconnected 0\n");
}
TEST_F(Faults, AResetIsAReset) {
  EXPECT_EQ(output_of(send("reset downstream at before_accept")), "ConnectionResetError 0\n");
}
TEST_F(Faults, HalfAnAnswerIsIncomplete) {
  EXPECT_EQ(output_of(send("half downstream at after_accept")), "200 IncompleteRead 0\n");
}
TEST_F(Faults, AStallOutlastsTheTimeOutOfTheClient) {
  EXPECT_EQ(output_of(send("stall downstream at after_accept for 1h")), "TimeoutError 10\n");
}
TEST_F(Faults, ALateAnswerIsAnAnswer) {
  EXPECT_EQ(output_of(send("late downstream at after_accept for 5s")), "200 read 5\n");
}

TEST_F(Faults, ADownstreamMayAnswerARepeatInItsOwnWayAndKnowItLate) {
  const std::string twice = R"(
import http.client, time
for n in range(3):
    c = http.client.HTTPConnection('127.0.0.1', 8080)
    c.request('POST', '/send', 'body', {'Idempotency-Key': 'k1'})
    print(c.getresponse().status, end=' ')
    time.sleep(1)
)";
  Scenario s = scenario({python(twice)});
  s.downstream.accepted_status = 204;
  s.downstream.known_key_status = 409;
  use(s);
  EXPECT_EQ(output_of(run("")), "204 409 409 ");
  s.downstream.key_lag = 1500ms;
  use(s);
  EXPECT_EQ(output_of(run("")), "204 204 409 ");
}

TEST_F(Faults, WhatIsAcceptedDependsOnWhenTheFaultStrikes) {
  EXPECT_THAT(events_of<Accepted>(send("drop downstream at before_accept"), "a-1"), SizeIs(0));
  EXPECT_THAT(events_of<Accepted>(send("drop downstream at after_accept"), "a-1"), SizeIs(1));
}

TEST_F(Faults, RefusedConnectionsAreForTheirActorAndTheirTime) {
  const std::string patient = R"(
import socket, time
for n in range(4):
    try:
        socket.create_connection(('127.0.0.1', 8080)).close()
        print('in', end=' ')
    except ConnectionRefusedError:
        print('refused', end=' ')
    time.sleep(1)
)";
  use(scenario({python(patient), python(patient)}));
  const Execution execution = run("refuse a-1 for 1500ms");
  EXPECT_EQ(output_of(execution, "a-1"), "refused refused in in ");
  EXPECT_EQ(output_of(execution, "b-1"), "in in in in ");
}

// Announces points, in the parent and in the child.
constexpr const char* family = R"(
import os, time
def at(name): os.access('/halfsent/at/' + name, 0)
if os.fork() == 0:
    at('child')
    time.sleep(5)
    open('child.txt', 'w').write('done')
    os._exit(0)
time.sleep(1)
at('parent')
print(os.waitstatus_to_exitcode(os.wait()[1]), flush=True)
time.sleep(1)
)";

bool child_finished(const Runner& runner) { return std::filesystem::exists(runner.world_folder() / "child.txt"); }

TEST_F(Faults, AKillOfAProcessLeavesAnOrphanThatFinishes) {
  use(scenario({python(family)}));
  const Execution execution = run("restart a-1 never; kill a-1 process at at:parent");
  EXPECT_EQ(output_of(execution), "") << story(execution);
  EXPECT_TRUE(child_finished(*runner_)) << story(execution);
  EXPECT_GE(execution.history.events.back().at, 5s);
}

TEST_F(Faults, AKillOfTheRootAtAStopOfItsChildLeavesAnOrphanThatFinishes) {
  use(scenario({python(family)}));
  const Execution execution = run("restart a-1 never; kill a-1 root at at:child");
  EXPECT_EQ(output_of(execution), "") << story(execution);
  EXPECT_TRUE(child_finished(*runner_)) << story(execution);
  EXPECT_GE(execution.history.events.back().at, 5s);
}

TEST_F(Faults, AKillOfATreeLeavesNobody) {
  use(scenario({python(family)}));
  const Execution execution = run("restart a-1 never; kill a-1 at at:parent");
  EXPECT_FALSE(child_finished(*runner_));
  EXPECT_LT(execution.history.events.back().at, 2s);
}

TEST_F(Faults, AKillOfAChildIsSeenByItsParent) {
  use(scenario({python(family)}));
  for (const char* faults :
       {"kill a-1 child at at:parent", "kill a-1 child at at:child", "kill a-1 process at at:child"}) {
    const Execution execution = run(faults);
    EXPECT_EQ(output_of(execution), "-9\n") << faults << story(execution);
    EXPECT_FALSE(child_finished(*runner_));
  }
}

TEST_F(Faults, AnOrphansSendBelongsToItsProcess) {
  use(scenario({python(std::string(R"(
import os, time
if os.fork() == 0:
    time.sleep(3)
)") + "    import http.client\n    c = http.client.HTTPConnection('127.0.0.1', 8080)\n"
      "    c.request('POST', '/send', 'b', {'Idempotency-Key': 'k1'})\n    c.getresponse().read()\n    os._exit(0)\n"
      "time.sleep(1)\nos.access('/halfsent/at/parent', 0)\nos.wait()\n")}));
  const Execution execution = run("restart a-1 never; kill a-1 process at at:parent");
  const auto accepted = events_of<Accepted>(execution, "a-1");
  ASSERT_THAT(accepted, SizeIs(1)) << story(execution);
  EXPECT_EQ(accepted[0]->process, 1);
  EXPECT_EQ(accepted[0]->incarnation, 1);
}

TEST_F(Faults, AKillDuringAVfork) {
  // The child of posix_spawn stops at the write of its redirection, before its exec: the parent is suspended.
  use(scenario({python(R"(
import os, sys
pid = os.posix_spawn('/bin/echo', ['echo', 'spawned'], dict(os.environ),
    file_actions=[(os.POSIX_SPAWN_OPEN, 1, 'out.txt', os.O_WRONLY | os.O_CREAT, 0o644)])
print('parent', os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
)")}));
  const Execution child = run("restart a-1 never; kill a-1 process at file_open");
  EXPECT_EQ(finish_of(child).reason, "all exited") << finish_of(child).detail;
  EXPECT_EQ(output_of(child), "parent -9\n") << story(child);
  const Execution tree = run("restart a-1 never; kill a-1 at file_open");
  EXPECT_EQ(finish_of(tree).reason, "all exited") << finish_of(tree).detail;
  EXPECT_EQ(output_of(tree), "") << story(tree);
}

TEST_F(Faults, AHoldStopsOneActorForItsTime) {
  use(scenario(
      {python("import os, time\nprint(time.monotonic())\nos.access('/halfsent/at/here', 0)\nprint(time.monotonic())"),
       shell("sleep 10; echo free")}));
  const Execution execution = run("hold a-1 at at:here for 61s");
  EXPECT_GE(duration_of(execution, "a-1"), 61s);
  EXPECT_LE(duration_of(execution, "a-1"), 62s);
  EXPECT_LE(duration_of(execution, "b-1"), 11s);
  EXPECT_THAT(events_of<Released>(execution, "a-1"), SizeIs(1));
}

TEST_F(Faults, ASettledWorldIsNotOverBeforeWhoIsHeldOrComesBackHasHadItsTime) {
  Scenario settled =
      scenario({python("import os, time\nos.access('/halfsent/at/here', 0)\ntime.sleep(1)\nprint('went on')"),
                shell("sleep 100000")});
  settled.ledger.setup += "UPDATE jobs SET s = 'delivered';";
  use(settled);
  EXPECT_EQ(output_of(run("hold a-1 at at:here for 10min")), "went on\n");
  EXPECT_EQ(output_of(run("restart a-1 after 10min; kill a-1 at at:here"), "a-1", 2), "went on\n");
}

// A child announces the point while the root sleeps: the signal finds it there.
constexpr const char* sleeper = R"(
import os, signal, sys, time
def stop(*a):
    print('stopping at', round(time.monotonic() - start), flush=True)
    sys.exit(4)
if sys.argv[1] == 'handler':
    signal.signal(signal.SIGTERM, stop)
start = time.monotonic()
if os.fork() == 0:
    time.sleep(3)
    os.access('/halfsent/at/now', 0)
    os._exit(0)
time.sleep(1000)
)";

TEST_F(Faults, ATermRunsTheHandlerAtOnce) {
  use(scenario({{"python3", "-c", sleeper, "handler"}, shell("sleep 100")}));
  const Execution execution = run("restart a-1 never; term a-1 at at:now");
  EXPECT_EQ(output_of(execution), "stopping at 3\n") << story(execution);
  const auto ends = events_of<Ended>(execution, "a-1");
  ASSERT_THAT(ends, SizeIs(2));
  EXPECT_EQ(std::get<Ended>(ends.back()->body), (Ended{Ended::How::killed_by_plan, 4}));
}

TEST_F(Faults, ATermWithoutAHandlerIsTheEnd) {
  use(scenario({{"python3", "-c", sleeper, "none"}}));
  const Execution execution = run("restart a-1 never; term a-1 at at:now");
  EXPECT_LT(duration_of(execution), 4s);
  const auto ends = events_of<Ended>(execution, "a-1");
  ASSERT_THAT(ends, SizeIs(2));
  EXPECT_EQ(std::get<Ended>(ends.front()->body), (Ended{Ended::How::killed_by_plan, 15}));
}

TEST_F(Faults, RestartsComeAsThePlanSays) {
  const Command worker = python("import os, time\nos.access('/halfsent/at/here', 0)\ntime.sleep(10)");
  const auto second_start = [&](std::string_view faults) {
    Scenario two = scenario({worker});
    two.actors[0].count = 2;
    use(std::move(two));
    const Execution execution = run(std::string(faults) + "; kill a-1 at at:here");
    const auto starts = events_of<Started>(execution, "a-1");
    return starts.size() < 2 ? Nanoseconds{-1} : std::chrono::duration_cast<std::chrono::seconds>(starts[1]->at);
  };
  EXPECT_EQ(second_start("restart a-1 after 0s"), 0s);
  EXPECT_EQ(second_start("restart a-1 after 5s"), 5s);
  EXPECT_EQ(second_start("restart a-1 never"), Nanoseconds{-1});
  EXPECT_EQ(second_start("restart a-1 while_peer_lives"), 10s);
}

constexpr const char* clocks = R"(
import os, time
def read(): return time.time(), time.monotonic()
before = read()
os.access('/halfsent/at/here', 0)
after = read()
print(round(before[0]) % 86400, round(after[0] - before[0]), round(after[1] - before[1]))
)";

TEST_F(Faults, ASkewMovesTheWallClockOnly) {
  use(scenario({python(clocks)}));
  EXPECT_EQ(output_of(run()), "0 0 0\n");
  EXPECT_EQ(output_of(run("skew a-1 90s")), "90 0 0\n");
}

TEST_F(Faults, AStepMovesTheWallClockWhereItStrikes) {
  use(scenario({python(clocks)}));
  EXPECT_EQ(output_of(run("step a-1 7s at at:here")), "0 7 0\n");
  EXPECT_EQ(output_of(run("step a-1 -7s at at:here")), "0 -7 0\n");
}

}  // namespace
}  // namespace halfsent
