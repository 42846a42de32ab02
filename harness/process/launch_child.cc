#include "harness/process/launch_child.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include <cerrno>
#include <csignal>
#include <cstddef>

#include "harness/process/launch.h"

#if !defined(__x86_64__) || !defined(__linux__)
#error "Halfsent runs on x86-64 Linux only"
#endif
#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1UL << 5)
#endif

namespace halfsent {
namespace {

// Bypasses libc: no errno of the suspended harness is touched, and no sanitizer stands in between. -errno on failure.
long raw(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0) {
  long result = 0;
  register long r10 __asm__("r10") = d;
  register long r8 __asm__("r8") = e;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8)
                   : "rcx", "r11", "memory");
  return result;
}
long raw_pointer(const void* pointer) { return reinterpret_cast<long>(pointer); }

[[noreturn]] void leave() {
  for (;;) raw(SYS_exit_group, kLaunchExitMagic);
}

[[noreturn]] void fail(LaunchOrder& order, long result) {
  order.errno_value = static_cast<int>(-result);
  leave();
}

void step(LaunchOrder& order, LaunchStage stage, long result) {
  order.stage = stage;
  if (result < 0) fail(order, result);
}

// The kernel's own form of struct sigaction and of the signal set.
struct KernelSigaction {
  void (*handler)(int) = SIG_DFL;
  unsigned long flags = 0;
  void (*restorer)() = nullptr;
  unsigned long mask = 0;
};
constexpr long kSignalSetBytes = 8;

void reset_signals() {
  const KernelSigaction default_action;
  for (int number = 1; number <= 64; ++number) {
    raw(SYS_rt_sigaction, number, raw_pointer(&default_action), 0, kSignalSetBytes);
  }
  const unsigned long none = 0;
  raw(SYS_rt_sigprocmask, SIG_SETMASK, raw_pointer(&none), 0, kSignalSetBytes);
}

long pin(int cpu) {
  constexpr int kBits = 64;
  unsigned long mask[CPU_SETSIZE / kBits] = {};
  if (cpu >= CPU_SETSIZE) return -EINVAL;
  mask[cpu / kBits] = 1UL << (cpu % kBits);
  return raw(SYS_sched_setaffinity, 0, sizeof mask, raw_pointer(mask));
}

void install_filter(LaunchOrder& order) {
  const auto install = [&](unsigned long flags) {
    return raw(SYS_seccomp, SECCOMP_SET_MODE_FILTER, static_cast<long>(SECCOMP_FILTER_FLAG_NEW_LISTENER | flags),
               raw_pointer(order.filter));
  };
  long listener = install(SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV);
  order.wait_killable = listener >= 0;
  if (listener == -EINVAL) listener = install(0);
  step(order, LaunchStage::filter, listener);
  order.listener = static_cast<int>(listener);
}

// As execvp: a candidate that is not there does not end the search, one that may not be executed is remembered.
long execute(const LaunchOrder& order) {
  long error = -ENOENT;
  for (const char* const* candidate = order.candidates; *candidate != nullptr; ++candidate) {
    const long result = raw(SYS_execve, raw_pointer(*candidate), raw_pointer(order.argv), raw_pointer(order.envp));
    if (result == -EACCES) {
      error = result;
    } else if (result != -ENOENT && result != -ENOTDIR) {
      return result;
    }
  }
  return error;
}

int run_program(void* argument) {
  auto& order = *static_cast<LaunchOrder*>(argument);
  step(order, LaunchStage::enter_namespaces,
       raw(SYS_setns, order.init_pidfd, CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS));
  reset_signals();
  step(order, LaunchStage::session, raw(SYS_setsid));
  if (order.no_aslr) step(order, LaunchStage::personality, raw(SYS_personality, ADDR_NO_RANDOMIZE));
  const rlimit no_core{0, 0};
  step(order, LaunchStage::core_limit, raw(SYS_setrlimit, RLIMIT_CORE, raw_pointer(&no_core)));
  if (order.cpu >= 0) step(order, LaunchStage::affinity, pin(order.cpu));
  raw(SYS_umask, 022);
  step(order, LaunchStage::working_directory, raw(SYS_chdir, raw_pointer(order.cwd)));
  step(order, LaunchStage::no_new_privileges, raw(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1));
  // The descriptor table is still the harness's: the listener appears there. From here on only the calls that launch.h
  // lists.
  if (order.filter != nullptr) install_filter(order);
  step(order, LaunchStage::own_descriptors, raw(SYS_unshare, CLONE_FILES));
  for (int target = 0; target < 3; ++target) {
    step(order, LaunchStage::standard_descriptors, raw(SYS_dup3, order.standard[target], target, 0));
  }
  step(order, LaunchStage::close_on_exec, raw(SYS_close_range, 3, ~0U, CLOSE_RANGE_CLOEXEC));
  order.stage = LaunchStage::exec;
  fail(order, execute(order));
}

}  // namespace

const char* launch_stage_name(LaunchStage stage) {
  switch (stage) {
    case LaunchStage::none:
      return "cloning the helper";
    case LaunchStage::enter_pid_namespace:
      return "entering the world's PID namespace";
    case LaunchStage::clone_process:
      return "cloning the process";
    case LaunchStage::enter_namespaces:
      return "entering the world's namespaces";
    case LaunchStage::session:
      return "starting a session";
    case LaunchStage::personality:
      return "switching address randomisation off";
    case LaunchStage::core_limit:
      return "switching core dumps off";
    case LaunchStage::affinity:
      return "pinning to a CPU";
    case LaunchStage::working_directory:
      return "entering the working directory";
    case LaunchStage::no_new_privileges:
      return "setting PR_SET_NO_NEW_PRIVS";
    case LaunchStage::filter:
      return "installing the system call filter";
    case LaunchStage::own_descriptors:
      return "leaving the shared descriptor table";
    case LaunchStage::standard_descriptors:
      return "setting up standard input and output";
    case LaunchStage::close_on_exec:
      return "marking descriptors close-on-exec";
    case LaunchStage::exec:
      return "executing the program";
  }
  return "unknown";
}

int run_launch_helper(void* argument) {
  auto& order = *static_cast<LaunchOrder*>(argument);
  step(order, LaunchStage::enter_pid_namespace, raw(SYS_setns, order.init_pidfd, CLONE_NEWPID));
  order.stage = LaunchStage::clone_process;
  // CLONE_PARENT: a child of the harness, with the exit signal of this helper (SIGCHLD).
  const int pid =
      clone(run_program, order.stack_end, CLONE_VM | CLONE_VFORK | CLONE_FILES | CLONE_PARENT | SIGCHLD, argument);
  if (pid < 0) fail(order, -errno);
  order.pid = pid;
  leave();
}

}  // namespace halfsent
