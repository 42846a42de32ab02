// Incarnations that are forked from a template are what executed ones are.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "harness/world/world_test_support.h"

namespace halfsent {
namespace {

using testing::HasSubstr;

// Says who it is at a boundary, and again after it.
constexpr const char* worker = R"(
import os, sys, time, helper
print('start', flush=True)
os.access('/halfsent/at/first', 0)
print(os.getpid(), os.getppid(), os.getsid(0), os.getpgrp(), os.getcwd(), os.urandom(8).hex(), time.time(), flush=True)
made = os.environ['TMPDIR'] + '/made.txt'
open(made, 'a').write('x')
print(len(open(made).read()), helper.name, flush=True)
os.access('/halfsent/at/second', 0)
)";

class Templates : public Worlds {
 protected:
  void use_worker(const std::string& text, bool fork_server = true) {
    write("worker.py", text);
    write("helper.py", "name = 'helper'\n");
    Scenario one = scenario({{"python3", "-B", "worker.py"}});
    one.fork_server = fork_server;
    use(std::move(one));
  }
  static void expect_same(const Execution& forked, const Execution& executed) {
    EXPECT_EQ(executed.forked, 0);
    EXPECT_EQ(story(forked), story(executed));
    EXPECT_EQ(digest(forked.history), digest(executed.history));
    ASSERT_EQ(forked.output.size(), executed.output.size());
    for (std::size_t i = 0; i < forked.output.size(); ++i) EXPECT_EQ(forked.output[i].text, executed.output[i].text);
  }
};

TEST_F(Templates, AForkedIncarnationDoesAndSaysWhatAnExecutedOneDoes) {
  use_worker(worker);
  for (const char* plan : {"", "kill a-1 at at:first", "kill a-1 at at:second"}) {
    const Execution forked = run(plan, 1, StartMode::fork);
    const Execution executed = run(plan);
    EXPECT_EQ(forked.forked, std::string(plan).empty() ? 1 : 2) << plan;
    EXPECT_THAT(output_of(executed), HasSubstr("start")) << plan;
    expect_same(forked, executed);
  }
}

TEST_F(Templates, ATemplateIsMadeAnewForAnotherSeed) {
  use_worker(worker);
  const Execution forked = run("", 1, StartMode::fork);
  expect_same(run("", 2, StartMode::fork), run("", 2));
  EXPECT_EQ(forked.forked, 1);
  EXPECT_NE(output_of(forked), output_of(run("", 2)));
}

TEST_F(Templates, WhenTheProgramIsChangedTheNextIncarnationIsExecuted) {
  use_worker(std::string(worker) +
             "open('helper.py', 'w').write(\"name = 'another'\\n\")\nos.access('/halfsent/at/end', 0)\n");
  const Execution forked = run("kill a-1 at at:end", 1, StartMode::fork);
  EXPECT_EQ(forked.forked, 1);
  EXPECT_THAT(output_of(forked, "a-1", 2), HasSubstr("another"));
  expect_same(forked, run("kill a-1 at at:end"));
}

TEST_F(Templates, AFileMadeWhereTheProgramHasLookedAroundMakesTheNextIncarnationExecute) {
  use_worker(
      "import os, helper\nos.access('/halfsent/at/first', 0)\nopen('made.py', 'w')\nos.access('/halfsent/at/second', "
      "0)\n");
  EXPECT_EQ(run("kill a-1 at at:first", 1, StartMode::fork).forked, 2);
  EXPECT_EQ(run("kill a-1 at at:second", 1, StartMode::fork).forked, 1);
}

TEST_F(Templates, AFolderThatIsOnlySyncedIsNoOther) {
  use_worker(
      "import os, helper\nos.access('/halfsent/at/first', 0)\nos.fsync(os.open('.', "
      "os.O_RDONLY))\nos.access('/halfsent/at/synced', 0)\n");
  const Execution forked = run("kill a-1 at at:synced", 1, StartMode::fork);
  EXPECT_EQ(forked.forked, 2);
  expect_same(forked, run("kill a-1 at at:synced"));
}

TEST_F(Templates, AProgramThatHoldsAFileOpenIsExecuted) {
  use_worker("import os\nf = open('helper.py')\nos.access('/halfsent/at/first', 0)\nprint(f.read())\n");
  const Execution execution = run("kill a-1 at at:first", 1, StartMode::fork);
  EXPECT_EQ(execution.forked, 0);
  expect_same(execution, run("kill a-1 at at:first"));
}

TEST_F(Templates, AProgramThatReadsTheClockFirstIsForkedBeforeThat) {
  use_worker("import time\nstart = time.time()\nimport os\nos.access('/halfsent/at/first', 0)\nprint(start)\n");
  const Execution forked = run("kill a-1 at at:first; restart a-1 after 60s", 1, StartMode::fork);
  EXPECT_EQ(forked.forked, 2);
  expect_same(forked, run("kill a-1 at at:first; restart a-1 after 60s"));
}

TEST_F(Templates, AProgramWithSharedMemoryIsExecuted) {
  use(scenario({program({"shared_memory"})}));
  const Execution execution = run("", 1, StartMode::fork);
  EXPECT_EQ(execution.forked, 0);
  EXPECT_THAT(output_of(execution), HasSubstr("attached 1"));
  expect_same(execution, run());
}

TEST_F(Templates, AScenarioCanForbidThem) {
  use_worker(worker, false);
  EXPECT_EQ(run("", 1, StartMode::fork).forked, 0);
}

}  // namespace
}  // namespace halfsent
