#include "harness/process/death.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "harness/process/test_support.h"

namespace halfsent {
namespace {

pid_t child_that_exits(int code) {
  const pid_t pid = fork();
  if (pid == 0) _exit(code);
  return pid;
}

pid_t child_that_waits() {
  const pid_t pid = fork();
  if (pid == 0) {
    for (;;) pause();
  }
  return pid;
}

TEST(Death, AnExitCodeIsReported) {
  const auto death = reap(child_that_exits(3));
  ASSERT_TRUE(death);
  EXPECT_EQ(*death, (Death{.kind = Death::Kind::exited, .value = 3}));
  EXPECT_EQ(death->to_string(), "exited with code 3");
  EXPECT_FALSE(death->succeeded());
  EXPECT_FALSE(death->killed());
}

TEST(Death, BeingKilledIsNotExitingWithTheSameNumber) {
  const pid_t victim = child_that_waits();
  ASSERT_EQ(kill(victim, SIGKILL), 0);
  const auto killed = reap(victim);
  const auto nine = reap(child_that_exits(9));
  const auto shell_like = reap(child_that_exits(137));
  ASSERT_TRUE(killed && nine && shell_like);
  EXPECT_TRUE(killed->killed());
  EXPECT_EQ(killed->to_string(), "killed by SIGKILL");
  EXPECT_FALSE(nine->killed());
  EXPECT_FALSE(shell_like->killed());
}

TEST(Death, AnotherSignalIsNamed) {
  const pid_t victim = child_that_waits();
  ASSERT_EQ(kill(victim, SIGTERM), 0);
  const auto death = reap(victim);
  ASSERT_TRUE(death);
  EXPECT_FALSE(death->killed());
  EXPECT_EQ(death->to_string(), "killed by SIGTERM");
}

TEST(Death, AStopIsNoDeath) {
  EXPECT_EQ(Death::from_wait_status(__W_STOPCODE(SIGSTOP)), std::nullopt);
  EXPECT_EQ(Death::from_wait_status(__W_CONTINUED), std::nullopt);
}

TEST(Death, ARunningChildIsNotReapedAndAnEndedOneIsReapedOnce) {
  const pid_t pid = child_that_waits();
  const UniqueFd pidfd = open_pidfd(pid);
  auto death = try_reap(pid);
  ASSERT_TRUE(death);
  EXPECT_EQ(*death, std::nullopt);
  ASSERT_EQ(kill(pid, SIGKILL), 0);
  ASSERT_TRUE(ended(pidfd, 10'000));
  death = try_reap(pid);
  ASSERT_TRUE(death && death->has_value());
  EXPECT_TRUE((*death)->killed());
  EXPECT_FALSE(try_reap(pid));
  EXPECT_FALSE(reap(pid));
}

TEST(UniqueFd, ClosesOnceAndMovesItsOwnership) {
  const auto is_open = [](int fd) { return fcntl(fd, F_GETFD) >= 0; };
  auto [reader, writer] = make_pipe();
  const int number = reader.get();
  {
    const UniqueFd other = std::move(reader);
    EXPECT_FALSE(reader.valid());  // NOLINT(bugprone-use-after-move)
    EXPECT_TRUE(is_open(number));
  }
  EXPECT_FALSE(is_open(number));
  const int given_up = writer.release();
  EXPECT_FALSE(writer);
  EXPECT_TRUE(is_open(given_up));
  close(given_up);
}

}  // namespace
}  // namespace halfsent
