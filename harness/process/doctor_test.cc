#include "harness/process/doctor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include <csignal>
#include <filesystem>
#include <ostream>
#include <set>

#include "harness/process/check_child.h"
#include "harness/process/test_support.h"

namespace halfsent {
namespace {

constexpr auto kWhole = ~std::uint64_t{0};

CheckResult run_denied(const char* name, const std::vector<Denial>& denials) {
  const Check* check = find_check(name);
  if (check == nullptr) return {name, CheckState::ok, "no such check", ""};
  return run_in_child(name, [&]() -> CheckResult {
    if (!deny(denials)) return {name, CheckState::ok, "the test could not deny", ""};
    return check->run();
  });
}

TEST(Doctor, EveryCheckReportsUnderItsOwnNameAndOnlyTroubleHasAMend) {
  std::set<std::string> names;
  for (const Check& check : doctor_checks()) {
    const CheckResult result = check.run();
    EXPECT_EQ(result.name, check.name);
    EXPECT_NE(result.found, "");
    EXPECT_EQ(result.mend.empty(), result.state == CheckState::ok) << result.name << ": " << result.found;
    EXPECT_TRUE(names.insert(result.name).second) << result.name << " is there twice";
  }
}

TEST(Doctor, WhatTheseTestsThemselvesNeedIsFoundWorking) {
  // The other tests of this folder use all of it on this machine: a check that fails here is wrong.
  for (const char* name :
       {"architecture", "seccomp_notify", "pidfd_open", "personality", "pid_namespace", "network_namespace",
        "mount_namespace", "ipc_namespace", "uts_namespace", "proc_mount", "shm_mount", "ns_last_pid", "world"}) {
    const Check* check = find_check(name);
    ASSERT_NE(check, nullptr) << name;
    const CheckResult result = check->run();
    EXPECT_EQ(result.state, CheckState::ok) << name << ": " << result.found;
  }
}

TEST(Doctor, ChecksLeaveNoChildAndNoDescriptor) {
  const auto count = [] {
    const std::filesystem::directory_iterator all("/proc/self/fd");
    return std::distance(begin(all), end(all));
  };
  const auto before = count();
  (void)run_doctor();
  EXPECT_EQ(count(), before);
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
}

TEST(Doctor, KernelsAreJudgedByTheirRelease) {
  EXPECT_EQ(check_kernel_release("5.19.0").state, CheckState::ok);
  EXPECT_EQ(check_kernel_release("6.1.0-18-amd64").state, CheckState::ok);
  EXPECT_EQ(check_kernel_release("5.15.0-91-generic").state, CheckState::warn);
  EXPECT_EQ(check_kernel_release("5.10.0").state, CheckState::fail);
  EXPECT_EQ(check_kernel_release("4.19.300").state, CheckState::fail);
  EXPECT_EQ(check_kernel_release("unknown").state, CheckState::fail);
}

struct Refusal {
  const char* check;
  std::vector<Denial> denials;
  CheckState state;
  const char* found;
  const char* mend;
};

void PrintTo(const Refusal& refusal, std::ostream* out) { *out << refusal.check << ": " << refusal.found; }

class DeniedByTheKernel : public testing::TestWithParam<Refusal> {};

TEST_P(DeniedByTheKernel, IsNamedWithItsMend) {
  const Refusal& refusal = GetParam();
  const CheckResult result = run_denied(refusal.check, refusal.denials);
  EXPECT_EQ(result.name, refusal.check);
  EXPECT_EQ(result.state, refusal.state) << result.found;
  EXPECT_THAT(result.found, testing::HasSubstr(refusal.found));
  EXPECT_THAT(result.mend, testing::HasSubstr(refusal.mend));
}

Refusal refused_namespace(const char* check, int flag) {
  const auto bit = static_cast<std::uint64_t>(flag);
  return {check,
          {{.call = SYS_unshare, .mask = bit, .wanted = bit}, {.call = SYS_clone, .mask = bit, .wanted = bit}},
          CheckState::fail,
          "refused: Operation not permitted",
          "--cap-add SYS_ADMIN"};
}

Denial refused_listener(int error, std::uint64_t flags) {
  return {.call = SYS_seccomp, .error = error, .argument = 1, .mask = flags, .wanted = flags};
}

INSTANTIATE_TEST_SUITE_P(
    Doctor, DeniedByTheKernel,
    testing::Values(
        Refusal{"seccomp_notify",
                {refused_listener(EPERM, SECCOMP_FILTER_FLAG_NEW_LISTENER)},
                CheckState::fail,
                "a filter with a listener: Operation not permitted",
                "seccomp=unconfined"},
        Refusal{"seccomp_notify",
                {refused_listener(EBUSY, SECCOMP_FILTER_FLAG_NEW_LISTENER)},
                CheckState::fail,
                "Device or resource busy",
                "no other supervisor"},
        Refusal{"seccomp_notify",
                {refused_listener(EINVAL, 1U << 5)},
                CheckState::warn,
                "without WAIT_KILLABLE_RECV",
                "Linux 5.19"},
        Refusal{"pidfd_open",
                {{.call = SYS_pidfd_open, .error = ENOSYS}},
                CheckState::fail,
                "pidfd_open: Function not implemented",
                "Linux 5.6"},
        Refusal{"pidfd_getfd",
                {{.call = SYS_pidfd_getfd}},
                CheckState::fail,
                "pidfd_getfd: Operation not permitted",
                "--cap-add SYS_PTRACE"},
        Refusal{"remote_read",
                {{.call = SYS_process_vm_readv}},
                CheckState::fail,
                "process_vm_readv: Operation not permitted",
                "kernel.yama.ptrace_scope"},
        Refusal{"remote_write",
                {{.call = SYS_pwrite64, .error = EIO}},
                CheckState::fail,
                "read-only memory through /proc/PID/mem: Input/output error",
                "proc_mem.force_override"},
        Refusal{"ptrace",
                {{.call = SYS_ptrace, .mask = kWhole, .wanted = PTRACE_SEIZE}},
                CheckState::warn,
                "PTRACE_SEIZE (needed for fork_server only): Operation not permitted",
                "kernel.yama.ptrace_scope"},
        Refusal{"personality",
                {{.call = SYS_personality, .mask = ADDR_NO_RANDOMIZE, .wanted = ADDR_NO_RANDOMIZE}},
                CheckState::fail,
                "personality(ADDR_NO_RANDOMIZE): Operation not permitted",
                "seccomp=unconfined"},
        refused_namespace("pid_namespace", CLONE_NEWPID), refused_namespace("network_namespace", CLONE_NEWNET),
        refused_namespace("mount_namespace", CLONE_NEWNS), refused_namespace("ipc_namespace", CLONE_NEWIPC),
        refused_namespace("uts_namespace", CLONE_NEWUTS),
        Refusal{"proc_mount",
                {{.call = SYS_mount, .argument = 3, .mask = kWhole, .wanted = MS_NOSUID | MS_NODEV | MS_NOEXEC}},
                CheckState::fail,
                "a /proc of its own: Operation not permitted",
                "systempaths=unconfined"},
        Refusal{"shm_mount",
                {{.call = SYS_mount, .argument = 3, .mask = kWhole, .wanted = 0}},
                CheckState::fail,
                "a tmpfs on /dev/shm: Operation not permitted",
                "/dev/shm must exist"},
        Refusal{"ns_last_pid",
                {{.call = SYS_write, .error = EACCES, .argument = 2, .mask = kWhole, .wanted = 4}},
                CheckState::warn,
                "Permission denied",
                "CONFIG_CHECKPOINT_RESTORE"},
        Refusal{"world",
                {{.call = SYS_setns}},
                CheckState::fail,
                "the world's PID namespace failed: Operation not permitted",
                "--cap-add SYS_ADMIN"}),
    [](const auto& refusal) { return std::string(refusal.param.check) + "_" + std::to_string(refusal.index); });

TEST(Doctor, AUserNamespaceThatIsNeededAndRefusedIsNamed) {
  const CheckResult result = run_in_child("pid_namespace", []() -> CheckResult {
    constexpr uid_t kNobody = 65534;
    const bool ready = (geteuid() != 0 || setresuid(kNobody, kNobody, kNobody) == 0) &&
                       deny({{.call = SYS_unshare, .mask = CLONE_NEWUSER, .wanted = CLONE_NEWUSER}});
    if (!ready) return {"pid_namespace", CheckState::ok, "the test could not prepare", ""};
    return find_check("pid_namespace")->run();
  });
  EXPECT_EQ(result.state, CheckState::fail);
  EXPECT_EQ(result.found, "the user namespace it needs: Operation not permitted");
  EXPECT_THAT(result.mend, testing::HasSubstr("kernel.unprivileged_userns_clone"));
}

TEST(Doctor, ACheckThatDiesIsAFailedCheck) {
  const CheckResult result = run_in_child("any", []() -> CheckResult {
    raise(SIGKILL);
    return {};
  });
  EXPECT_EQ(result.state, CheckState::fail);
  EXPECT_EQ(result.found, "the check killed by SIGKILL");
}

}  // namespace
}  // namespace halfsent
