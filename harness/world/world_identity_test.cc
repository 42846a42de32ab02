// What must repeat: randomness, identity, addresses, histories under load and of large bodies.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "harness/world/world_test_support.h"

namespace halfsent {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

constexpr const char* identity = R"(
import os, random, uuid, secrets, tempfile
uuid_file = open('/proc/sys/kernel/random/uuid').read().strip()
print(os.urandom(8).hex(), open('/dev/urandom', 'rb').read(8).hex(), uuid_file)
print(uuid.uuid4(), random.random(), secrets.token_hex(4), hash('a string'))
print(os.getpid(), os.getppid(), id(object()), tempfile.mktemp())
pid = os.fork()
print(pid, os.urandom(4).hex(), flush=True)
if pid == 0: os._exit(0)
os.wait()
)";

TEST_F(Worlds, WhatLiesBesideTheWorkersOwnLedgerDoesNotGetIntoTheWorld) {
  write("ledger.db", "an old one");
  write("ledger.db-wal", "its log");
  write("ledger.db-journal", "its journal");
  write("worker.txt", "kept");
  const Execution execution = run_alone(shell("head -c 6 ledger.db; echo; ls"));
  EXPECT_EQ(output_of(execution), "SQLite\nledger.db\nworker.txt\n");
}

TEST_F(Worlds, RandomnessAndIdentityRepeat) {
  Scenario two = scenario({python(identity)});
  two.actors[0].count = 2;
  use(std::move(two));
  const Execution first = run();
  const Execution second = run();
  const Execution other_seed = run("", 2);
  EXPECT_THAT(output_of(first), Not(HasSubstr("Error")));
  EXPECT_EQ(output_of(first, "a-1"), output_of(second, "a-1"));
  EXPECT_EQ(output_of(first, "a-2"), output_of(second, "a-2"));
  const auto line = [](const Execution& execution, const std::string& actor, int n) {
    std::string text = output_of(execution, actor);
    while (n-- > 0) text = text.substr(text.find('\n') + 1);
    return text.substr(0, text.find('\n'));
  };
  for (const int n : {0, 1}) {
    EXPECT_NE(line(first, "a-1", n), line(first, "a-2", n));
    EXPECT_NE(line(first, "a-1", n), line(other_seed, "a-1", n));
  }
}

TEST_F(Worlds, ARestartedWorkerDrawsAnotherStream) {
  use(scenario({python("import os\nprint(os.urandom(8).hex(), flush=True)\nos.access('/halfsent/at/drawn', 0)")}));
  const Execution execution = run("kill a-1 at at:drawn");
  EXPECT_EQ(output_of(execution, "a-1", 1).size(), 17U);
  EXPECT_EQ(output_of(execution, "a-1", 2).size(), 17U);
  EXPECT_NE(output_of(execution, "a-1", 1), output_of(execution, "a-1", 2));
}

constexpr const char* post = R"(
import http.client, sys
c = http.client.HTTPConnection('127.0.0.1', 8080, timeout=None if sys.argv[1] == 'none' else float(sys.argv[1]))
c.request('POST', '/send', b'0123456789' * 1000000, {'Idempotency-Key': 'k1'})
r = c.getresponse()
print(r.status, len(r.read()) > 0)
)";

class LargeBodies : public Worlds, public testing::WithParamInterface<const char*> {};

TEST_P(LargeBodies, ArriveCompletelyAndRepeat) {
  use(scenario({{"python3", "-c", post, GetParam()}}));
  const Execution execution = expect_one_digest();
  EXPECT_EQ(output_of(execution), "200 True\n") << story(execution).substr(0, 3000);
  const auto requests = events_of<Requested>(execution, "a-1");
  ASSERT_EQ(requests.size(), 1U);
  EXPECT_EQ(std::get<Requested>(requests[0]->body).key, "k1");
}

std::string name_of(const testing::TestParamInfo<const char*>& time_out) {
  return time_out.index == 0 ? "Blocking" : "WithATimeOut";
}
INSTANTIATE_TEST_SUITE_P(Both, LargeBodies, testing::Values("none", "60"), name_of);

// Something that uses a CPU up, for as long as this lives.
class Load {
 public:
  Load() {
    cpu_set_t cpus;
    if (::sched_getaffinity(0, sizeof cpus, &cpus) != 0) return;
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
      if (CPU_ISSET(cpu, &cpus)) burn(cpu);
  }
  ~Load() {
    for (const pid_t pid : pids_) {
      ::kill(pid, SIGKILL);
      ::waitpid(pid, nullptr, 0);
    }
  }
  Load(const Load&) = delete;
  Load& operator=(const Load&) = delete;

 private:
  void burn(int cpu) {
    const pid_t pid = ::fork();
    if (pid != 0) {
      pids_.push_back(pid);
      return;
    }
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    ::sched_setaffinity(0, sizeof one, &one);
    for (volatile unsigned i = 0;;) i = i + 1;
  }
  std::vector<pid_t> pids_;
};

TEST_F(Worlds, HistoriesRepeatUnderLoad) {
  const std::vector<Command> commands = {
      python(R"(
import fcntl, http.client, os, subprocess, time
for n in range(3):
    with open('guard', 'w') as guard:
        fcntl.flock(guard, fcntl.LOCK_EX)
        c = http.client.HTTPConnection('127.0.0.1', 8080, timeout=5)
        c.request('POST', '/send', os.urandom(20).hex(), {'Idempotency-Key': 'k%d' % n})
        c.getresponse().read()
    subprocess.run(['sh', '-c', 'cat | sort'], input=os.urandom(100000))
    time.sleep(0.5)
)"),
      shell("for i in 1 2 3; do (sleep 0.3; flock guard sleep 1) & done; seq 1 5000 | sort -rn | head -2; wait")};
  use(scenario(commands));
  const Load load;  // after the harness has chosen its CPU
  const Execution execution = expect_one_digest();
  EXPECT_EQ(finish_of(execution).reason, "all exited") << finish_of(execution).detail;
  EXPECT_EQ(events_of<Accepted>(execution, "a-1").size(), 3U);
  EXPECT_EQ(output_of(execution, "b-1"), "5000\n4999\n");
}

}  // namespace
}  // namespace halfsent
