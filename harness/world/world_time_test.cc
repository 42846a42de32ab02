// Time and signals: what programs see in a world is what they see without one, only that it takes no real time.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "harness/world/world_test_support.h"

namespace halfsent {
namespace {

using namespace std::chrono_literals;

// What the start of a program costs in virtual time, and each of its steps.
constexpr Nanoseconds overhead = 30ms;

struct Case {
  const char* name;
  std::vector<std::string> really;     // small, because it takes this time
  std::vector<std::string> virtually;  // may be large
  Nanoseconds duration;                // of the virtual one
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

class TimeInAWorld : public Worlds, public testing::WithParamInterface<Case> {
 public:
  static std::vector<std::string> command(const std::vector<std::string>& words) {
    return words.front() == "test_program" ? program({words.begin() + 1, words.end()}) : words;
  }
};

TEST_P(TimeInAWorld, IsAsWithoutOneButTakesNoRealTime) {
  const Case& c = GetParam();
  const RealRun real = run_really(command(c.really));
  const Execution execution = run_alone(command(c.virtually));
  EXPECT_EQ(output_of(execution), real.output) << story(execution);
  EXPECT_EQ(exit_code_of(execution), real.exit_code) << story(execution);
  EXPECT_EQ(finish_of(execution).reason, "all exited") << finish_of(execution).detail;
  EXPECT_GE(duration_of(execution), c.duration) << story(execution);
  EXPECT_LE(duration_of(execution), c.duration + overhead) << story(execution);
}

constexpr const char* python_alarm = R"(
import signal, sys, time
seen = []
signal.signal(signal.SIGALRM, lambda *a: seen.append(1))
signal.setitimer(signal.ITIMER_REAL, float(sys.argv[1]))
signal.pause()
print(len(seen), signal.alarm(5), signal.alarm(0))
)";
constexpr const char* python_timed_waits = R"(
import sys, threading
u = float(sys.argv[1])
print(threading.Event().wait(u))
lock = threading.Lock()
lock.acquire()
print(lock.acquire(timeout=u))
event = threading.Event()
timer = threading.Timer(u, event.set)
timer.start()
print(event.wait(3 * u))
timer.join()
)";
constexpr const char* python_term = R"(
import os, signal, sys, time
u = float(sys.argv[1])
def stop(*a):
    print('stopping', flush=True)
    sys.exit(3)
signal.signal(signal.SIGTERM, stop)
parent = os.getpid()
if os.fork() == 0:
    time.sleep(u / 2)
    os.kill(parent, signal.SIGTERM)
    os._exit(0)
time.sleep(u)
print('slept on')
)";
// A handler that returns: Python sleeps the rest.
constexpr const char* python_chld = R"(
import os, signal, sys, time
u = float(sys.argv[1])
seen = []
signal.signal(signal.SIGCHLD, lambda *a: seen.append(1))
if os.fork() == 0:
    time.sleep(u / 2)
    os._exit(0)
start = time.monotonic()
time.sleep(u)
print(seen, time.monotonic() - start >= u)
)";
constexpr const char* python_asyncio = R"(
import asyncio, sys
u = float(sys.argv[1])
async def nap(n):
    await asyncio.sleep(n * u)
    return n
async def main():
    print(await asyncio.gather(nap(3), nap(1), nap(2)))
    try:
        await asyncio.wait_for(asyncio.sleep(5 * u), u)
    except asyncio.TimeoutError:
        print('timed out')
    p = await asyncio.create_subprocess_exec('sh', '-c', 'read x; echo got $x; exit 3',
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE)
    print(await p.communicate(b'hello\n'), p.returncode)
asyncio.run(main())
)";
constexpr const char* python_pool = R"(
import sys, time
from concurrent.futures import ThreadPoolExecutor
u = float(sys.argv[1])
def work(n):
    time.sleep(u)
    return n * n
with ThreadPoolExecutor(4) as pool:
    print(list(pool.map(work, range(12))))
)";
constexpr const char* python_busy = R"(
import sys, time
end = time.monotonic() + float(sys.argv[1])
while time.monotonic() < end:
    pass
print('done')
)";
constexpr const char* shell_term =
    "trap 'echo caught; exit 9' TERM; (sleep $0; kill -TERM $$) & sleep $1 & wait; echo no";

std::vector<std::string> py(const char* text, const char* argument) { return {"python3", "-c", text, argument}; }

std::string name_of(const testing::TestParamInfo<Case>& info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(
    Timers, TimeInAWorld,
    testing::Values(
        Case{"AnAlarmEndsAProgramWithoutAHandler", {"test_program", "alarm"}, {"test_program", "alarm"}, 1s},
        Case{"APythonAlarmRunsItsHandler", py(python_alarm, "0.1"), py(python_alarm, "3600"), 3600s},
        Case{"AnIntervalTimerTicks", {"test_program", "interval", "0.05"}, {"test_program", "interval", "60"}, 300s},
        Case{"APosixTimerSendsItsValue",
             {"test_program", "posix_timer", "0.1"},
             {"test_program", "posix_timer", "90"},
             90s},
        Case{"TimeoutOfCoreutilsEndsASleep",
             {"timeout", "0.2", "sleep", "3600"},
             {"timeout", "2", "sleep", "3600"},
             2s}),
    name_of);

INSTANTIATE_TEST_SUITE_P(
    Waits, TimeInAWorld,
    testing::Values(
        Case{"TimeOutsOfEveryKindOfWait",
             {"test_program", "time_outs", "0.05"},
             {"test_program", "time_outs", "100"},
             800s},
        Case{"AnAbsoluteSleepIsOverAtItsTime",
             {"test_program", "absolute", "1"},
             {"test_program", "absolute", "1000"},
             1000s},
        Case{"TimedWaitsOfPythonThreads", py(python_timed_waits, "0.1"), py(python_timed_waits, "5"), 15s},
        Case{"ASleepInAChildOfAShell", {"sh", "-c", "sleep 0.1; echo $?"}, {"sh", "-c", "sleep 500; echo $?"}, 500s},
        Case{"SixHoursOfPythonSleep", py("import time,sys; time.sleep(float(sys.argv[1]))", "0.1"),
             py("import time,sys; time.sleep(float(sys.argv[1]))", "21600"), 21600s},
        Case{"AsyncioWithTimersAndAChild", py(python_asyncio, "0.1"), py(python_asyncio, "10"), 40s},
        Case{"AThreadPoolThatSleeps", py(python_pool, "0.05"), py(python_pool, "60"), 180s},
        Case{"AnEmptyLoopThatReadsTheClock", py(python_busy, "0.1"), py(python_busy, "0.1"), 100ms}),
    name_of);

INSTANTIATE_TEST_SUITE_P(
    Signals, TimeInAWorld,
    testing::Values(
        Case{"SigtermAtASleepInC", {"test_program", "term_sleep", "0.2"}, {"test_program", "term_sleep", "100"}, 50s},
        Case{"SigchldAtASleepInC", {"test_program", "chld_sleep", "0.2"}, {"test_program", "chld_sleep", "100"}, 50s},
        Case{"SigtermAtAPoll", {"test_program", "term_poll", "0.2"}, {"test_program", "term_poll", "100"}, 50s},
        Case{"SigtermAtARead", {"test_program", "term_read", "0.2"}, {"test_program", "term_read", "100"}, 50s},
        Case{"SigtermAtAReadThatIsRestarted",
             {"test_program", "term_read_restart", "0.2"},
             {"test_program", "term_read_restart", "100"},
             100s},
        Case{"SigtermAtAPythonSleep", py(python_term, "0.2"), py(python_term, "100"), 50s},
        Case{"SigchldAtAPythonSleep", py(python_chld, "0.2"), py(python_chld, "100"), 100s},
        Case{
            "SigtermAtAShellsWait", {"sh", "-c", shell_term, "0.1", "0.3"}, {"sh", "-c", shell_term, "50", "100"}, 50s},
        Case{"ASignalThatSigsuspendLetsThrough",
             {"test_program", "sigsuspend", "0.1"},
             {"test_program", "sigsuspend", "7"},
             7s},
        Case{"ASignalThatPpollLetsThrough",
             {"test_program", "ppoll_mask", "0.1"},
             {"test_program", "ppoll_mask", "7"},
             7s},
        Case{"ASignalBesideASleepingThread",
             {"test_program", "signal_beside_thread", "0.2"},
             {"test_program", "signal_beside_thread", "100"},
             100s},
        Case{"AStopAndItsContinuation", {"test_program", "stop", "0.1"}, {"test_program", "stop", "20"}, 20s}),
    name_of);

TEST_F(Worlds, TheLongestSleepLastsToTheHorizon) {
  Scenario longest = scenario({program({"longest"})});
  use(std::move(longest));
  const Execution execution = run();
  EXPECT_EQ(finish_of(execution).reason, "horizon");
  EXPECT_EQ(execution.history.events.back().at, 100h);
}

TEST_F(Worlds, AnAlarmComesWhileItsProcessIsBusy) {
  const Execution execution = run_python(R"(
import os, signal
signal.alarm(1)
while True:
    fd = os.open('busy.txt', os.O_CREAT | os.O_WRONLY | os.O_TRUNC)
    os.write(fd, b'x')
    os.close(fd)
)");
  EXPECT_EQ(exit_code_of(execution), 128 + 14);
  EXPECT_LE(duration_of(execution), 1s + overhead);
}

TEST_F(Worlds, ASleepOfADifferentActorGoesOnWhileOneIsHeld) {
  Scenario two = scenario({python(R"(
import os
os.access('/halfsent/at/here', 0)
)"),
                           shell("sleep 5; sleep 5; echo slept")});
  use(std::move(two));
  const Execution execution = run("hold a-1 at at:here for 1h");
  EXPECT_GE(duration_of(execution, "a-1"), 1h);
  EXPECT_LE(duration_of(execution, "b-1"), 10s + overhead);
  EXPECT_EQ(output_of(execution, "b-1"), "slept\n");
}

}  // namespace
}  // namespace halfsent
