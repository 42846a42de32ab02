// Process trees, pipes, locks and threads: no hang, the same result as without a world, and the same history every
// time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

#include "harness/world/world_test_support.h"

namespace halfsent {
namespace {

using namespace std::chrono_literals;
using testing::IsEmpty;

class Trees : public Worlds {
 protected:
  // One digest, a complete end, and for the first actor the output and exit code of the real machine.
  Execution expect_as_without(const Command& really, const Command& virtually) {
    const RealRun real = run_really(really);
    use(scenario({virtually}));
    Execution execution = expect_one_digest();
    EXPECT_EQ(finish_of(execution).reason, "all exited") << finish_of(execution).detail;
    EXPECT_EQ(output_of(execution), real.output) << story(execution);
    EXPECT_EQ(exit_code_of(execution), real.exit_code) << story(execution);
    return execution;
  }
  Execution expect_as_without(const Command& command) { return expect_as_without(command, command); }
};

constexpr const char* guarded = R"(
import fcntl, os, sys, time
name = os.environ['HALFSENT_ACTOR']
file = open('guard', 'w')
for n in range(3):
    if sys.argv[1] == 'flock':
        fcntl.flock(file, fcntl.LOCK_EX)
    else:
        fcntl.lockf(file, fcntl.LOCK_EX)
    log = os.open('log', os.O_CREAT | os.O_APPEND | os.O_WRONLY)
    os.write(log, (name + ' in\n').encode())
    time.sleep(1)
    os.write(log, (name + ' out\n').encode())
    os.close(log)
    if sys.argv[1] == 'flock':
        fcntl.flock(file, fcntl.LOCK_UN)
    else:
        fcntl.lockf(file, fcntl.LOCK_UN)
)";

std::string read_text(const std::filesystem::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

class Guards : public Trees, public testing::WithParamInterface<const char*> {};

TEST_P(Guards, KeepTwoWorkersApart) {
  Scenario two = scenario({{"python3", "-c", guarded, GetParam()}});
  two.actors[0].count = 2;
  use(std::move(two));
  const Execution execution = expect_one_digest();
  EXPECT_EQ(finish_of(execution).reason, "all exited") << finish_of(execution).detail;
  std::istringstream log(read_text(runner_->world_folder() / "log"));
  std::string inside;
  int turns = 0;
  for (std::string name, what; log >> name >> what; ++turns) {
    if (what == "in") {
      EXPECT_THAT(inside, IsEmpty()) << name << " came in beside " << inside;
      inside = name;
    } else {
      EXPECT_EQ(inside, name);
      inside.clear();
    }
  }
  EXPECT_EQ(turns, 12);
  EXPECT_GE(execution.history.events.back().at, 6s);  // one after another
}

std::string name_of(const testing::TestParamInfo<const char*>& kind) { return kind.param; }
INSTANTIATE_TEST_SUITE_P(BothKinds, Guards, testing::Values("flock", "lockf"), name_of);

TEST_F(Trees, ALockThatIsFreeIsTakenAtOnce) {
  const Execution execution = expect_as_without(python(R"(
import fcntl
file = open('guard', 'w')
fcntl.lockf(file, fcntl.LOCK_EX)
fcntl.flock(file, fcntl.LOCK_EX)
print('both')
)"));
  for (const Event* event : events_of<Waiting>(execution, "a-1"))
    EXPECT_THAT(std::get<Waiting>(event->body).object, testing::Ne("guard"));
}

TEST_F(Trees, AChildIsFedThroughPipes) {
  expect_as_without(python(R"(
import subprocess
p = subprocess.run(['tr', 'a-z', 'A-Z'], input=b'half sent\n' * 20000, stdout=subprocess.PIPE)
print(p.returncode, len(p.stdout), p.stdout[:9])
print(subprocess.run('exit 3', shell=True).returncode)
)"));
}

TEST_F(Trees, APipelineThatOverflowsItsPipes) {
  expect_as_without(shell("seq 1 20000 | sort -n | tail -1; seq 1 50000 | head -1"));
}

TEST_F(Trees, OneLargeWriteToASlowReader) {
  expect_as_without(python(R"(
import os, time
r, w = os.pipe()
if os.fork() == 0:
    os.close(r)
    print('written', os.write(w, b'x' * 300000), flush=True)
    os.writev(w, [b'a' * 70000, b'b' * 70000, b'c'])
    os._exit(0)
os.close(w)
total = 0
last = b''
while True:
    chunk = os.read(r, 7000)
    if not chunk:
        break
    total += len(chunk)
    last = chunk[-1:]
print('read', total, last, os.wait()[1])
)"));
}

TEST_F(Trees, AWriterWhoseReaderGoesGetsSigpipe) {
  expect_as_without(python(R"(
import os, signal
signal.signal(signal.SIGPIPE, signal.SIG_DFL)
r, w = os.pipe()
child = os.fork()
if child == 0:
    os.close(r)
    while True:
        os.write(w, b'x' * 100000)
os.close(w)
os.read(r, 10)
os.close(r)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
)"));
}

TEST_F(Trees, BackgroundJobsOfAShell) {
  expect_as_without(shell("(sleep 0.2; echo b) & (sleep 0.1; echo a) & wait; echo all; sleep 0.1 & wait $!; echo $?"),
                    shell("(sleep 200; echo b) & (sleep 100; echo a) & wait; echo all; sleep 100 & wait $!; echo $?"));
}

TEST_F(Trees, VforkGoodAndBad) {
  const Execution execution = expect_as_without(program({"vfork"}));
  EXPECT_GE(duration_of(execution), 1s);
}

TEST_F(Trees, PosixSpawn) {
  expect_as_without(python(R"(
import os
pids = [os.posix_spawn('/bin/sh', ['sh', '-c', 'exit %d' % n], dict(os.environ)) for n in range(3)]
print([os.waitstatus_to_exitcode(os.waitpid(p, 0)[1]) for p in pids])
)"));
}

TEST_F(Trees, ADaemonOutlivesItsParents) {
  use(scenario({program({"daemon", "100"})}));
  const Execution execution = expect_one_digest();
  EXPECT_EQ(output_of(execution), "started 1 -\n");
  EXPECT_EQ(finish_of(execution).reason, "all exited") << finish_of(execution).detail;
  EXPECT_GE(execution.history.events.back().at, 100s);
  EXPECT_EQ(read_text(runner_->world_folder() / "daemon.txt"), "done\n");
  EXPECT_EQ(exit_code_of(execution, "a-1", 2), 0);
}

TEST_F(Trees, ChildrenThatDieOfSignals) {
  const Execution execution = expect_as_without(program({"child_ends"}));
  EXPECT_EQ(exit_code_of(execution, "a-1", 1), 128 + 15);
  EXPECT_EQ(exit_code_of(execution, "a-1", 2), 128 + 6);
}

TEST_F(Trees, AProcessForksWhileOthersSleep) {
  use(scenario({shell("sleep 1; for i in 1 2 3 4 5; do (sleep 0.5; echo $i); done"), shell("sleep 2; echo other"),
                python("import time\nfor n in range(10): time.sleep(0.3)\nprint('third')")}));
  const Execution execution = expect_one_digest();
  EXPECT_EQ(output_of(execution, "a-1"), "1\n2\n3\n4\n5\n");
  EXPECT_EQ(output_of(execution, "b-1"), "other\n");
  EXPECT_EQ(output_of(execution, "c-1"), "third\n");
}

TEST_F(Trees, OneWorkerKillsAnother) {
  use(scenario({shell("echo $$ > pid; sleep 1000; echo survived"),
                shell("sleep 1; kill -9 $(cat pid); kill -0 $(cat pid) 2>/dev/null || echo gone")}));
  const Execution execution = expect_one_digest();
  EXPECT_EQ(exit_code_of(execution, "a-1"), 128 + 9) << story(execution);
  EXPECT_EQ(output_of(execution, "a-1"), "");
  EXPECT_LT(duration_of(execution, "a-1"), 2s);
}

TEST_F(Trees, AShellKillsItsChild) {
  // Whether the shell also says so on stderr depends on whether the child is dead before it looks, with and without a
  // world.
  expect_as_without(
      shell("exec 2>/dev/null; sleep 1000 & kill -9 $!; wait $!; echo $?; sleep 1000 & kill $!; wait $!; echo $?"));
}

TEST_F(Trees, AParentThatLooksForItsChildAllTheTime) {
  const Execution execution = expect_as_without(program({"spin_wait", "0.1"}), program({"spin_wait", "2"}));
  EXPECT_GE(duration_of(execution), 1s);
}

// The order of threads between two stops is the kernel's: no digest here.
TEST_F(Trees, ThreadsAreJoined) {
  const Execution execution = run_alone(program({"join", "50"}));
  EXPECT_EQ(output_of(execution), "sum 0 -\n");
  EXPECT_EQ(exit_code_of(execution), 0);
}

TEST_F(Trees, TheFirstThreadMayLeaveBeforeTheOthers) {
  const Execution execution = run_alone(program({"main_leaves", "50"}));
  EXPECT_EQ(output_of(execution), "outlived 1 -\n") << story(execution);
  EXPECT_EQ(exit_code_of(execution), 7);
  EXPECT_GE(duration_of(execution), 50s);
}

}  // namespace
}  // namespace halfsent
