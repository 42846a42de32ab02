#include "harness/process/launch.h"

#include <dirent.h>
#include <linux/seccomp.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <gmock/gmock.h>

#include <algorithm>
#include <csignal>
#include <cstddef>
#include <filesystem>
#include <fstream>

#include "harness/process/check_child.h"
#include "harness/process/test_support.h"

namespace halfsent {
namespace {

class Launch : public testing::Test {
 protected:
  void SetUp() override {
    sandbox_ = make_sandbox();
    ASSERT_TRUE(sandbox_);
  }

  // Writes an executable file into the world's cwd.
  void script(const std::string& name, const std::string& text, mode_t mode = 0755) {
    const auto path = sandbox_->root() / "cwd" / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
    ASSERT_EQ(chmod(path.c_str(), mode), 0);
  }

  Error failure(const LaunchSpec& spec) {
    const auto launched = launch(*sandbox_, spec);
    if (launched) {
      ADD_FAILURE() << "the launch succeeded";
      return {};
    }
    return launched.error();
  }

  std::unique_ptr<Sandbox> sandbox_;
};

std::vector<std::string> open_descriptors() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd"))
    names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<sock_filter> notify_on(unsigned call) {
  return {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
          BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
          BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
}

TEST_F(Launch, OutputAndExitCodeComeBack) {
  const auto finished = run(*sandbox_, "echo hello; exit 7");
  ASSERT_TRUE(finished) << finished.error().to_string();
  EXPECT_EQ(finished->output, "hello\n");
  EXPECT_EQ(finished->death, (Death{.kind = Death::Kind::exited, .value = 7}));
}

TEST_F(Launch, TheEnvironmentIsExactlyTheOneGiven) {
  LaunchSpec spec;
  spec.argv = {"/usr/bin/env"};
  spec.envp = {"A=1", "B=two words"};
  const auto finished = run(*sandbox_, spec);
  ASSERT_TRUE(finished) << finished.error().to_string();
  EXPECT_EQ(finished->output, "A=1\nB=two words\n");
}

TEST_F(Launch, StandardInputIsTheOneGivenAndOtherwiseEmpty) {
  auto [reader, writer] = make_pipe();
  ASSERT_EQ(write(writer.get(), "question\n", 9), 9);
  writer.reset();
  LaunchSpec spec = shell("cat");
  spec.stdin_fd = reader.get();
  const auto finished = run(*sandbox_, spec);
  ASSERT_TRUE(finished);
  EXPECT_EQ(finished->output, "question\n");
  EXPECT_EQ(output_of(*sandbox_, "cat"), "");
}

TEST_F(Launch, TheWorkingDirectoryIsInsideTheWorld) {
  EXPECT_EQ(output_of(*sandbox_, "pwd; echo x > made_here"), "/dev/shm/world/cwd\n");
  EXPECT_TRUE(std::filesystem::exists(sandbox_->root() / "cwd/made_here"));
  EXPECT_FALSE(std::filesystem::exists("/dev/shm/world"));
}

TEST_F(Launch, ACommandIsLookedUpInThePathOfItsOwnEnvironmentInsideTheWorld) {
  script("first/tool", "#!/bin/sh\necho not executable\n", 0644);
  script("second/tool", "#!/bin/sh\necho second\n");
  LaunchSpec spec;
  spec.argv = {"tool"};
  spec.envp = {"PATH=/nowhere:/dev/shm/world/cwd/first:/dev/shm/world/cwd/second"};
  const auto finished = run(*sandbox_, spec);
  ASSERT_TRUE(finished) << finished.error().to_string();
  EXPECT_EQ(finished->output, "second\n");
}

TEST_F(Launch, AnEmptyPathElementIsTheWorkingDirectory) {
  script("tool", "#!/bin/sh\necho here\n");
  LaunchSpec spec;
  spec.argv = {"tool"};
  spec.envp = {"PATH=/nowhere:"};
  const auto finished = run(*sandbox_, spec);
  ASSERT_TRUE(finished) << finished.error().to_string();
  EXPECT_EQ(finished->output, "here\n");
}

TEST_F(Launch, AFailureSaysWhatToMend) {
  script("plain.txt", "text\n", 0644);
  script("no_interpreter", "#!/no/such/interpreter\n");
  script("no_program", "just text\n");
  struct Case {
    std::vector<std::string> argv;
    std::string cwd;
    std::string message;
    std::string mend;
  };
  const std::string cwd = Sandbox::kCwdPath;
  for (const Case& c : std::vector<Case>{
           {{"no-such-tool"}, cwd, "No such file", "looked in PATH \"/usr/bin:/bin\""},
           {{"./no-such-file"}, cwd, "No such file", "correct the path"},
           {{"./plain.txt"}, cwd, "Permission denied", "chmod +x"},
           {{"./no_interpreter"}, cwd, "No such file", "the interpreter its first line names is not"},
           {{"./no_program"}, cwd, "Exec format error", "#!/bin/sh"},
           {{"true"},
            "/dev/shm/world/none",
            "working directory \"/dev/shm/world/none\"",
            "must exist inside the world"},
           {{"true"}, "relative", "not absolute", "inside the world"},
           {{std::string("tr\0ue", 5)}, cwd, "NUL byte", "remove it"},
           {{}, cwd, "no command", "program name"},
       }) {
    LaunchSpec spec;
    spec.argv = c.argv;
    spec.cwd = c.cwd;
    spec.envp = {"PATH=/usr/bin:/bin"};
    const Error error = failure(spec);
    EXPECT_EQ(error.code, ExitCode::usage) << error.to_string();
    EXPECT_THAT(error.message, testing::HasSubstr(c.message));
    EXPECT_THAT(error.mend, testing::HasSubstr(c.mend));
  }
}

TEST_F(Launch, AFailureLeavesNeitherProcessNorDescriptor) {
  const auto before = open_descriptors();
  const auto filter = notify_on(SYS_getppid);
  LaunchSpec spec;
  spec.argv = {"no-such-tool"};
  spec.filter = filter;
  (void)failure(spec);
  EXPECT_EQ(open_descriptors(), before);
  // Init is the only child that is left.
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), 0);
  EXPECT_TRUE(sandbox_->reset());
}

TEST_F(Launch, OnlyTheCallsOfTheContractAreMadeUnderTheFilter) {
  // Everything else, execve too, fails with ENOSYS: a stray call would end the launch at another stage, and any other
  // exit would hang.
  const auto allow_if = [](std::vector<sock_filter>& filter, unsigned call, unsigned argument, unsigned value) {
    const auto offset = static_cast<unsigned>(offsetof(seccomp_data, args) + 8 * argument);
    filter.insert(filter.end(),
                  {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
                   BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 3), BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offset),
                   BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)});
  };
  std::vector<sock_filter> filter;
  allow_if(filter, SYS_exit_group, 0, kLaunchExitMagic);
  allow_if(filter, SYS_unshare, 0, CLONE_FILES);
  allow_if(filter, SYS_close_range, 0, 3);
  allow_if(filter, SYS_dup3, 2, 0);
  filter.insert(filter.end(), {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS)});
  LaunchSpec spec = shell("true");
  spec.filter = filter;
  const Error error = failure(spec);
  EXPECT_EQ(error.message, "cannot start \"sh\": Function not implemented");
  EXPECT_EQ(error.code, ExitCode::harness_fault);
}

TEST_F(Launch, ARefusalBetweenFilterAndExecNamesTheStage) {
  const std::vector<sock_filter> filter{BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
                                        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_unshare, 0, 1),
                                        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
                                        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  LaunchSpec spec = shell("true");
  spec.filter = filter;
  const Error error = failure(spec);
  EXPECT_EQ(error.code, ExitCode::harness_fault);
  EXPECT_THAT(error.message, testing::HasSubstr("leaving the shared descriptor table failed: Operation not permitted"));
}

TEST_F(Launch, TheListenerStopsTheProgramAtTheFilteredCall) {
  auto [reader, writer] = make_pipe();
  const auto filter = notify_on(SYS_getppid);
  LaunchSpec spec = shell("echo $PPID");
  spec.filter = filter;
  spec.stdout_fd = writer.get();
  auto launched = launch(*sandbox_, spec);
  writer.reset();
  ASSERT_TRUE(launched) << launched.error().to_string();
  ASSERT_TRUE(launched->listener);
  EXPECT_TRUE(fcntl(launched->listener.get(), F_GETFD) & FD_CLOEXEC);
  EXPECT_TRUE(fcntl(launched->pidfd.get(), F_GETFD) & FD_CLOEXEC);

  seccomp_notif question{};
  ASSERT_EQ(ioctl(launched->listener.get(), SECCOMP_IOCTL_NOTIF_RECV, &question), 0);
  EXPECT_EQ(question.data.nr, SYS_getppid);
  EXPECT_EQ(static_cast<pid_t>(question.pid), launched->pid);
  seccomp_notif_resp response{};
  response.id = question.id;
  response.val = 424242;
  ASSERT_EQ(ioctl(launched->listener.get(), SECCOMP_IOCTL_NOTIF_SEND, &response), 0);
  EXPECT_EQ(drain(reader.get()), "424242\n");
  const auto death = reap(launched->pid);
  ASSERT_TRUE(death);
  EXPECT_TRUE(death->succeeded());
}

// Starts a program under a filter with the installation of such filters refused; "killable" tells which kind it got.
CheckResult launch_with(const Denial& denial) {
  return run_in_child("launch", [&]() -> CheckResult {
    const auto sandbox = make_sandbox();
    if (!sandbox || !deny({denial})) return {"launch", CheckState::warn, "the test could not prepare", ""};
    const auto filter = notify_on(SYS_getppid);
    LaunchSpec spec = shell("true");
    spec.filter = filter;
    const auto launched = launch(*sandbox, spec);
    if (!launched) return {"launch", CheckState::fail, launched.error().message, launched.error().mend};
    return {"launch", CheckState::ok, launched->wait_killable ? "killable" : "plain", ""};
  });
}

Denial refused_filter(int error, std::uint64_t flags) {
  return {.call = SYS_seccomp, .error = error, .argument = 1, .mask = flags, .wanted = flags};
}

TEST_F(Launch, AKernelWithoutWaitKillableGetsAPlainListener) {
  constexpr std::uint64_t kWaitKillable = 1U << 5;
  EXPECT_EQ(launch_with(refused_filter(EINVAL, kWaitKillable)).found, "plain");
  // The control: a refusal of something else.
  EXPECT_EQ(launch_with({.call = SYS_acct}).found, "killable");
}

TEST_F(Launch, ARefusedFilterIsNamedWithItsMend) {
  const CheckResult refused = launch_with(refused_filter(EPERM, SECCOMP_FILTER_FLAG_NEW_LISTENER));
  EXPECT_EQ(refused.found, "cannot start \"sh\": installing the system call filter failed: Operation not permitted");
  EXPECT_THAT(refused.mend, testing::HasSubstr("seccomp=unconfined"));
  const CheckResult busy = launch_with(refused_filter(EBUSY, SECCOMP_FILTER_FLAG_NEW_LISTENER));
  EXPECT_THAT(busy.mend, testing::HasSubstr("another supervisor"));
}

TEST_F(Launch, AProcessParkedAtAStopDiesThere) {
  auto [reader, writer] = make_pipe();
  const auto filter = notify_on(SYS_getppid);
  LaunchSpec spec = shell("echo survived");
  spec.filter = filter;
  spec.stdout_fd = writer.get();
  auto launched = launch(*sandbox_, spec);
  writer.reset();
  ASSERT_TRUE(launched);
  seccomp_notif question{};
  ASSERT_EQ(ioctl(launched->listener.get(), SECCOMP_IOCTL_NOTIF_RECV, &question), 0);
  ASSERT_EQ(kill(launched->pid, SIGKILL), 0);
  const auto death = reap(launched->pid);
  ASSERT_TRUE(death);
  EXPECT_TRUE(death->killed());
  EXPECT_EQ(drain(reader.get()), "");
}

TEST_F(Launch, SignalsStartFreshWhateverTheHarnessHasSet) {
  sigset_t blocked;
  sigset_t old;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGUSR1);
  sigprocmask(SIG_BLOCK, &blocked, &old);
  const auto old_handler = std::signal(SIGPIPE, SIG_IGN);
  const std::string status = output_of(*sandbox_, "exec grep -E 'SigBlk|SigIgn' /proc/self/status");
  std::signal(SIGPIPE, old_handler);
  sigprocmask(SIG_SETMASK, &old, nullptr);
  EXPECT_EQ(status, "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n");
}

TEST_F(Launch, TheHarnessKeepsItsOwnSignals) {
  sigset_t before;
  sigset_t after;
  sigprocmask(SIG_SETMASK, nullptr, &before);
  const auto old_handler = std::signal(SIGUSR2, SIG_IGN);
  ASSERT_TRUE(run(*sandbox_, "true"));
  sigprocmask(SIG_SETMASK, nullptr, &after);
  for (int number = 1; number < NSIG; ++number) EXPECT_EQ(sigismember(&before, number), sigismember(&after, number));
  EXPECT_EQ(std::signal(SIGUSR2, old_handler), SIG_IGN);
}

TEST_F(Launch, NoDescriptorOfTheHarnessLeaks) {
  const UniqueFd careless(open("/dev/null", O_RDONLY));  // not close-on-exec
  ASSERT_TRUE(careless);
  // 3 is the folder that ls itself reads.
  EXPECT_EQ(output_of(*sandbox_, "exec ls /proc/self/fd"), "0\n1\n2\n3\n");
}

TEST_F(Launch, StandardDescriptorsMayBeGivenInAnyOrder) {
  auto [reader, writer] = make_pipe();
  // The number 0 as standard error and the pipe as output: a naive dup2 chain would overwrite one by the other.
  const UniqueFd saved(dup(0));
  ASSERT_EQ(dup2(writer.get(), 0), 0);
  LaunchSpec spec = shell("echo out; echo err >&2");
  spec.stdout_fd = 0;
  spec.stderr_fd = 0;
  auto launched = launch(*sandbox_, spec);
  dup2(saved.get(), 0);
  writer.reset();
  ASSERT_TRUE(launched);
  EXPECT_EQ(drain(reader.get()), "out\nerr\n");
  EXPECT_TRUE(reap(launched->pid));
}

TEST_F(Launch, TheProgramLeadsItsOwnSession) {
  // pid, process group and session are fields 1, 5 and 6.
  const std::string ids = output_of(*sandbox_, "exec cut -d' ' -f1,5,6 /proc/self/stat");
  EXPECT_EQ(ids, "1001 1001 1001\n");
}

TEST_F(Launch, LimitsAndPrivilegesAreFixed) {
  const mode_t old = umask(077);
  EXPECT_EQ(output_of(*sandbox_, "umask; ulimit -c; grep NoNewPrivs /proc/self/status"), "0022\n0\nNoNewPrivs:\t1\n");
  umask(old);
}

TEST_F(Launch, AddressesRepeatUnlessAslrIsWanted) {
  const std::string layout = "grep -E 'stack|vdso|libc' /proc/self/maps | cut -d' ' -f1";
  const std::string first = output_of(*sandbox_, layout);
  EXPECT_NE(first, "");
  EXPECT_EQ(output_of(*sandbox_, layout), first);
  LaunchSpec spec = shell("cat /proc/self/personality");
  auto finished = run(*sandbox_, spec);
  ASSERT_TRUE(finished);
  EXPECT_EQ(finished->output, "00040000\n");
  spec.no_aslr = false;
  finished = run(*sandbox_, spec);
  ASSERT_TRUE(finished);
  EXPECT_EQ(finished->output, "00000000\n");
}

TEST_F(Launch, AProgramIsPinnedToItsCpuAndTheHarnessIsNot) {
  cpu_set_t mine;
  ASSERT_EQ(sched_getaffinity(0, sizeof mine, &mine), 0);
  int cpu = 0;
  while (!CPU_ISSET(cpu, &mine)) ++cpu;
  LaunchSpec spec = shell("grep Cpus_allowed_list /proc/self/status");
  spec.cpu = cpu;
  const auto finished = run(*sandbox_, spec);
  ASSERT_TRUE(finished) << finished.error().to_string();
  EXPECT_EQ(finished->output, "Cpus_allowed_list:\t" + std::to_string(cpu) + "\n");
  cpu_set_t after;
  ASSERT_EQ(sched_getaffinity(0, sizeof after, &after), 0);
  EXPECT_TRUE(CPU_EQUAL(&mine, &after));
}

TEST_F(Launch, ACpuThatIsNotThereIsNamed) {
  LaunchSpec spec = shell("true");
  spec.cpu = CPU_SETSIZE - 1;
  const Error error = failure(spec);
  EXPECT_EQ(error.code, ExitCode::harness_fault);
  EXPECT_THAT(error.mend, testing::HasSubstr("CPU 1023"));
}

TEST_F(Launch, ALongExecutionDoesNotRunOutOfDescriptors) {
  ASSERT_TRUE(run(*sandbox_, "true"));
  const auto before = open_descriptors();
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(run(*sandbox_, "true"));
  EXPECT_EQ(open_descriptors(), before);
}

}  // namespace
}  // namespace halfsent
