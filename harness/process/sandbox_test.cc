#include "harness/process/sandbox.h"

#include <gmock/gmock.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>

#include "harness/process/test_support.h"

namespace halfsent {
namespace {

namespace fs = std::filesystem;

constexpr int kPatienceMs = 10'000;  // a watchdog for what should take milliseconds

std::vector<pid_t> processes() {
  std::vector<pid_t> result;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    pid_t pid = 0;
    if (std::from_chars(name.data(), name.data() + name.size(), pid).ptr == name.data() + name.size())
      result.push_back(pid);
  }
  return result;
}

std::string pid_namespace(pid_t pid) {
  std::error_code gone;
  return fs::read_symlink("/proc/" + std::to_string(pid) + "/ns/pid", gone);
}

// Everything in the PID namespace of `init`, itself included.
std::vector<UniqueFd> inhabitants(pid_t init) {
  const std::string world = pid_namespace(init);
  EXPECT_NE(world, "");
  std::vector<UniqueFd> result;
  for (const pid_t pid : processes()) {
    if (pid_namespace(pid) == world) result.push_back(open_pidfd(pid));
  }
  return result;
}

// A process tree that is hard to end by groups or sessions: grandchildren in sessions of their own, one deaf to
// SIGTERM, one an orphan of another user (where we may change the user).
std::string stubborn_tree() {
  const std::string as_other_user = geteuid() == 0 ? "setpriv --reuid=65534 --clear-groups " : "";
  return "setsid sh -c 'trap \"\" TERM HUP INT; sleep 1000 & echo ready; wait' & (setsid " + as_other_user +
         "sh -c 'echo ready; exec sleep 1000' &) ; wait";
}
constexpr std::size_t kStubbornTreeSize = 4;  // two shells, two sleeps; at times a process that is about to end

// Starts it and returns when all of it runs.
Result<Launched> start_stubborn_tree(Sandbox& sandbox) {
  auto [reader, writer] = make_pipe();
  LaunchSpec spec = shell(stubborn_tree());
  spec.stdout_fd = writer.get();
  auto launched = launch(sandbox, spec);
  writer.reset();
  if (launched) {
    EXPECT_EQ(read_line(reader.get()), "ready");
    EXPECT_EQ(read_line(reader.get()), "ready");
  }
  return launched;
}

// A child of this process in the world that launch() knows nothing of, as a fork of a parked program is; it has ended
// already.
pid_t unknown_child_in(const Sandbox& sandbox) {
  auto [reader, writer] = make_pipe();
  const pid_t helper = fork();
  if (helper == 0) {
    if (setns(sandbox.init_pidfd(), CLONE_NEWPID) != 0) _exit(1);
    const long pid = syscall(SYS_clone, CLONE_PARENT | SIGCHLD, nullptr, nullptr, nullptr, nullptr);
    if (pid == 0) _exit(0);
    const std::string line = std::to_string(pid) + "\n";
    _exit(write(writer.get(), line.data(), line.size()) > 0 ? 0 : 1);
  }
  writer.reset();
  const std::string line = read_line(reader.get());
  EXPECT_TRUE(reap(helper));
  pid_t pid = -1;
  std::from_chars(line.data(), line.data() + line.size(), pid);
  return pid;
}

TEST(Sandbox, TheFirstProcessHasTheSamePidInEveryExecution) {
  const auto sandbox = make_sandbox();
  ASSERT_TRUE(sandbox);
  ASSERT_TRUE(sandbox->facts().pids_repeat);
  for (int execution = 0; execution < 4; ++execution) {
    EXPECT_EQ(output_of(*sandbox, "echo $$; sh -c 'echo $$'; sh -c 'echo $$'"), "1001\n1002\n1003\n");
    EXPECT_EQ(output_of(*sandbox, "echo $$"), "1004\n");
    ASSERT_TRUE(sandbox->reset());
  }
}

TEST(Sandbox, AWorldSeesOnlyItsOwnProcessesNetworkAndName) {
  const auto sandbox = make_sandbox();
  ASSERT_TRUE(sandbox);
  EXPECT_EQ(output_of(*sandbox, "uname -n"), "world\n");
  // No process but init has a PID below the first of the world.
  EXPECT_EQ(output_of(*sandbox, "ls /proc | grep -E '^[0-9]+$' | awk '$1 < 1001'; cat /proc/1/comm"),
            "1\nworld-init\n");
  EXPECT_EQ(output_of(*sandbox, "tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' '"), "lo\n");
  EXPECT_EQ(output_of(*sandbox, "stat -c %a /dev/shm /dev/shm/world/cwd /dev/shm/world/home /dev/shm/world/tmp"),
            "1777\n755\n755\n1777\n");
}

TEST(Sandbox, InitHoldsNoDescriptorOfTheHarnessButItsControlSocket) {
  const auto pipe = make_pipe();
  const auto first = make_sandbox();
  const auto second = make_sandbox();
  ASSERT_TRUE(first && second);
  for (const auto* sandbox : {&first, &second}) {
    const fs::directory_iterator held("/proc/" + std::to_string((*sandbox)->init_pid()) + "/fd");
    EXPECT_EQ(std::distance(begin(held), end(held)), 1);
  }
}

TEST(Sandbox, ResetEndsEveryProcessOfTheWorld) {
  const auto sandbox = make_sandbox();
  ASSERT_TRUE(sandbox);
  const auto launched = start_stubborn_tree(*sandbox);
  ASSERT_TRUE(launched);
  const auto tree = inhabitants(sandbox->init_pid());
  EXPECT_GE(tree.size(), kStubbornTreeSize + 1);  // and init
  ASSERT_TRUE(sandbox->reset());
  const auto dead = std::count_if(tree.begin(), tree.end(), [](const UniqueFd& process) { return ended(process, 0); });
  EXPECT_EQ(dead, tree.size() - 1);                        // all but init
  EXPECT_EQ(inhabitants(sandbox->init_pid()).size(), 1U);  // init
  EXPECT_EQ(output_of(*sandbox, "echo $$"), "1001\n");
}

TEST(Sandbox, ResetReapsWhatItsOwnerHasNot) {
  const auto sandbox = make_sandbox();
  ASSERT_TRUE(sandbox);
  const auto launched = launch(*sandbox, shell("exec sleep 1000"));
  ASSERT_TRUE(launched);
  ASSERT_TRUE(sandbox->reset());
  EXPECT_FALSE(try_reap(launched->pid));
}

TEST(Sandbox, ResetLeavesNoFile) {
  const auto sandbox = make_sandbox();
  ASSERT_TRUE(sandbox);
  const std::string list = "cd /dev/shm; find . -mindepth 1 -printf '%i %p\\n' | sort -k2";
  const std::string fresh = output_of(*sandbox, list);
  EXPECT_THAT(fresh, testing::HasSubstr("./world/cwd\n"));
  ASSERT_TRUE(sandbox->reset());
  output_of(*sandbox,
            "echo x > file; echo y > $PWD/../home/dot; echo z > /dev/shm/segment; mkdir -p a/b/c; rmdir ../tmp");
  EXPECT_TRUE(fs::exists(sandbox->root() / "cwd/file"));
  ASSERT_TRUE(sandbox->reset());
  EXPECT_FALSE(fs::exists(sandbox->root() / "cwd/file"));
  // Inode numbers repeat as well.
  EXPECT_EQ(output_of(*sandbox, list), fresh);
}

TEST(Sandbox, ResetSucceedsWhileTheHarnessHoldsAFileOpen) {
  const auto sandbox = make_sandbox();
  ASSERT_TRUE(sandbox);
  std::ofstream held(sandbox->root() / "cwd/held");
  ASSERT_TRUE(held);
  EXPECT_TRUE(sandbox->reset());
  EXPECT_FALSE(fs::exists(sandbox->root() / "cwd/held"));
}

TEST(Sandbox, ResetRemovesSystemVObjects) {
  const auto sandbox = make_sandbox();
  ASSERT_TRUE(sandbox);
  const std::string make = "ipcmk -Q; ipcmk -M 4096; ipcmk -S 1";
  const std::string count = "cat /proc/sysvipc/msg /proc/sysvipc/shm /proc/sysvipc/sem | wc -l";
  const std::string none = output_of(*sandbox, count);
  const std::string ids = output_of(*sandbox, make);
  EXPECT_NE(output_of(*sandbox, count), none);
  ASSERT_TRUE(sandbox->reset());
  EXPECT_EQ(output_of(*sandbox, count), none);
  EXPECT_EQ(output_of(*sandbox, make), ids);
}

TEST(Sandbox, ResetRestoresTheHostName) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can change the host name of a world";
  const auto sandbox = make_sandbox();
  ASSERT_TRUE(sandbox);
  output_of(*sandbox, "echo other > /proc/sys/kernel/hostname");
  EXPECT_EQ(output_of(*sandbox, "uname -n"), "other\n");
  ASSERT_TRUE(sandbox->reset());
  EXPECT_EQ(output_of(*sandbox, "uname -n"), "world\n");
}

TEST(Sandbox, TheTmpfsIsLimited) {
  auto sandbox = Sandbox::create({.tmpfs_bytes = 1 << 20});
  ASSERT_TRUE(sandbox);
  for (int execution = 0; execution < 2; ++execution) {
    const auto finished = run(**sandbox, "head -c 2000000 /dev/zero > big; stat -c %s big");
    ASSERT_TRUE(finished);
    EXPECT_LE(std::stoi(finished->output), 1 << 20);
    ASSERT_TRUE((*sandbox)->reset());
  }
}

TEST(Sandbox, AChildInTheWorldThatNobodyReapsIsNamedByReset) {
  const auto sandbox = make_sandbox();
  ASSERT_TRUE(sandbox);
  const pid_t child = unknown_child_in(*sandbox);
  ASSERT_GT(child, 0);
  const auto refused = sandbox->reset();
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, testing::HasSubstr("never reaped"));
  EXPECT_TRUE(reap(child));
}

TEST(Sandbox, AnAdoptedChildIsReapedByReset) {
  const auto sandbox = make_sandbox();
  ASSERT_TRUE(sandbox);
  const pid_t child = unknown_child_in(*sandbox);
  ASSERT_GT(child, 0);
  ASSERT_TRUE(sandbox->adopt(open_pidfd(child).get()));
  EXPECT_TRUE(sandbox->reset());
  EXPECT_FALSE(try_reap(child));
}

TEST(Sandbox, DestroyingItEndsTheWorld) {
  auto sandbox = make_sandbox();
  ASSERT_TRUE(sandbox);
  const auto launched = start_stubborn_tree(*sandbox);
  ASSERT_TRUE(launched);
  const auto tree = inhabitants(sandbox->init_pid());
  EXPECT_GE(tree.size(), kStubbornTreeSize + 1);  // and init
  sandbox.reset();
  for (const UniqueFd& process : tree) EXPECT_TRUE(ended(process, 0));
}

// A harness of its own, as a child of the test: makes a world full of processes and waits for its end. Killed at the
// latest with this object, whatever the test finds.
class OtherHarness {
 public:
  OtherHarness() {
    auto [reader, writer] = make_pipe();
    pid_ = fork();
    if (pid_ == 0) live(writer.get());
    writer.reset();
    const std::string line = read_line(reader.get());
    std::from_chars(line.data(), line.data() + line.size(), init_);
  }
  ~OtherHarness() { end(); }
  OtherHarness(const OtherHarness&) = delete;
  OtherHarness& operator=(const OtherHarness&) = delete;

  [[nodiscard]] pid_t init() const { return init_; }  // 0: it could not make its world

  void end() {
    if (pid_ < 0) return;
    kill(pid_, SIGKILL);
    EXPECT_TRUE(reap(std::exchange(pid_, -1)));
  }

 private:
  [[noreturn]] static void live(int pipe) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    const auto sandbox = make_sandbox();
    if (!sandbox || !start_stubborn_tree(*sandbox)) _exit(1);
    const std::string line = std::to_string(sandbox->init_pid()) + "\n";
    if (write(pipe, line.data(), line.size()) < 0) _exit(1);
    for (;;) pause();
  }

  pid_t pid_ = -1;
  pid_t init_ = 0;
};

TEST(Sandbox, NothingOfAWorldOutlivesAHarnessThatIsKilled) {
  // What the dead harness had launched is left to the nearest subreaper, and init has ended only when it was reaped.
  ASSERT_EQ(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
  OtherHarness harness;
  ASSERT_NE(harness.init(), 0);
  auto tree = inhabitants(harness.init());
  std::erase_if(tree, [](const UniqueFd& process) { return ended(process, 0); });
  ASSERT_GE(tree.size(), kStubbornTreeSize + 1);  // and init
  const auto start = std::chrono::steady_clock::now();
  harness.end();
  while (waitpid(-1, nullptr, 0) > 0) {
  }
  for (const UniqueFd& process : tree) EXPECT_TRUE(ended(process, kPatienceMs));
  const auto took = std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - start);
  RecordProperty("microseconds_until_all_were_gone", static_cast<int>(took.count()));
  EXPECT_EQ(prctl(PR_SET_CHILD_SUBREAPER, 0), 0);
}

}  // namespace
}  // namespace halfsent
