#include "harness/world/proc_fs.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

namespace halfsent {
namespace {

class Child {
 public:
  explicit Child(void (*does)()) : pid_(::fork()) {
    if (pid_ != 0) return;
    does();
    ::_exit(0);
  }
  ~Child() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  [[nodiscard]] pid_t pid() const { return pid_; }

 private:
  pid_t pid_;
};

TEST(ProcFs, AThreadThatRunsIsOnItsWayEvenWithoutAProcessor) {
  const Child child([] {
    for (volatile bool forever = true; forever;) {
    }
  });
  for (int look = 0; look < 100; ++look) EXPECT_TRUE(is_on_its_way(child.pid(), child.pid()));
}

TEST(ProcFs, AThreadThatHasGoneToSleepIsNotOnItsWay) {
  const Child child([] { ::pause(); });
  while (read_stat(child.pid(), child.pid()).value().state != 'S') ::sched_yield();
  EXPECT_FALSE(is_on_its_way(child.pid(), child.pid()));
}

}  // namespace
}  // namespace halfsent
