#include <fcntl.h>
#include <fmt/format.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstring>

#include "harness/process/check_child.h"
#include "harness/process/checks.h"
#include "harness/process/death.h"
#include "harness/process/unique_fd.h"

#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1UL << 5)
#endif

namespace halfsent {
namespace {

constexpr const char* kSeccompMend =
    "a kernel with CONFIG_SECCOMP_FILTER, and no other supervisor of system calls above us; in a container: "
    "--security-opt "
    "seccomp=unconfined";
constexpr const char* kPtraceMend =
    "sysctl -w kernel.yama.ptrace_scope=1 (0 to 1 work, 2 and 3 do not); in a container: --cap-add SYS_PTRACE "
    "--security-opt "
    "seccomp=unconfined";
constexpr const char* kPidfdMend = "Linux 5.6 or newer; in a container: --security-opt seccomp=unconfined";
constexpr int kPatienceMs = 10'000;  // a watchdog for a kernel that never answers
constexpr int kAnswer = 0x48533153;  // above every PID there can be

CheckResult refused(const char* name, const char* what, const char* mend, CheckState state = CheckState::fail) {
  return {name, state, fmt::format("{}: {}", what, std::strerror(errno)), mend};
}

// A child that does nothing until it is killed, with a word of memory at a known address.
class IdleChild {
 public:
  IdleChild() : pid_(fork()) {
    if (pid_ != 0) return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;) pause();
  }
  ~IdleChild() {
    if (pid_ < 0) return;
    kill(pid_, SIGKILL);
    (void)reap(pid_);
  }
  IdleChild(const IdleChild&) = delete;
  IdleChild& operator=(const IdleChild&) = delete;
  [[nodiscard]] pid_t pid() const { return pid_; }
  [[nodiscard]] UniqueFd open_pidfd() const { return UniqueFd(static_cast<int>(syscall(SYS_pidfd_open, pid_, 0))); }

  static volatile unsigned word;

 private:
  pid_t pid_;
};
volatile unsigned IdleChild::word = 0x48533153;

// Runs in a child that shares our descriptor table: installs a filter on getppid, tells the listener's number, calls
// getppid.
[[noreturn]] void ask(int pipe) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  std::array<sock_filter, 4> code{
      sock_filter BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      sock_filter BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
      sock_filter BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
      sock_filter BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{code.size(), code.data()};
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  const auto install = [&](unsigned long flags) {
    return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER | flags, &program);
  };
  std::array<int, 2> told{static_cast<int>(install(SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV)), 1};
  if (told[0] < 0 && errno == EINVAL) told = {static_cast<int>(install(0)), 0};
  if (told[0] < 0) told[0] = -errno;
  const bool sent = write(pipe, told.data(), sizeof told) == sizeof told;
  _exit(sent && told[0] >= 0 && syscall(SYS_getppid) == kAnswer ? 0 : 1);
}

bool answer_one(int listener) {
  pollfd wait{.fd = listener, .events = POLLIN, .revents = 0};
  if (poll(&wait, 1, kPatienceMs) != 1) return false;
  seccomp_notif question{};
  if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &question) != 0) return false;
  seccomp_notif_resp response{};
  response.id = question.id;
  response.val = kAnswer;
  return ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &response) == 0;
}

CheckResult notify_once() {
  constexpr const char* kName = "seccomp_notify";
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return refused(kName, "pipe", "free some descriptors");
  const UniqueFd reader(ends[0]);
  const UniqueFd writer(ends[1]);
  const auto child = static_cast<pid_t>(syscall(SYS_clone, CLONE_FILES | SIGCHLD, nullptr, nullptr, nullptr, nullptr));
  if (child < 0) return refused(kName, "clone", "raise the process limit");
  if (child == 0) ask(writer.get());
  std::array<int, 2> told{-EIO, 0};
  if (read(reader.get(), told.data(), sizeof told) != sizeof told) told[0] = -EIO;
  if (told[0] < 0) {
    (void)reap(child);
    errno = -told[0];
    return refused(kName, "installing a filter with a listener", kSeccompMend);
  }
  const UniqueFd listener(told[0]);
  const bool answered = answer_one(listener.get());
  if (!answered) kill(child, SIGKILL);
  const auto death = reap(child);
  if (!answered || !death || !death->succeeded())
    return {kName, CheckState::fail, "a notification cannot be answered", kSeccompMend};
  if (told[1] == 1) return {kName, CheckState::ok, "answered, with WAIT_KILLABLE_RECV", ""};
  return {kName, CheckState::warn, "answered, without WAIT_KILLABLE_RECV", "Linux 5.19 or newer"};
}

CheckResult attach() {
  const IdleChild child;
  if (ptrace(PTRACE_SEIZE, child.pid(), nullptr, nullptr) != 0) {
    return refused("ptrace", "PTRACE_SEIZE (needed for fork_server only)", kPtraceMend, CheckState::warn);
  }
  int status = 0;
  const bool stopped = ptrace(PTRACE_INTERRUPT, child.pid(), nullptr, nullptr) == 0 &&
                       waitpid(child.pid(), &status, __WALL) == child.pid() && WIFSTOPPED(status) &&
                       ptrace(PTRACE_DETACH, child.pid(), nullptr, nullptr) == 0;
  if (!stopped)
    return refused("ptrace", "PTRACE_INTERRUPT (needed for fork_server only)", kPtraceMend, CheckState::warn);
  return {"ptrace", CheckState::ok, "seized, interrupted and let go", ""};
}

}  // namespace

CheckResult check_seccomp_notify() { return run_in_child("seccomp_notify", notify_once); }

CheckResult check_pidfd_open() {
  const IdleChild child;
  if (!child.open_pidfd()) return refused("pidfd_open", "pidfd_open", kPidfdMend);
  return {"pidfd_open", CheckState::ok, "works", ""};
}

CheckResult check_pidfd_getfd() {
  // Certain to be open in the child, whatever has become of the standard descriptors.
  const UniqueFd own(open("/dev/null", O_RDONLY | O_CLOEXEC));
  const IdleChild child;
  const UniqueFd pidfd = child.open_pidfd();
  const UniqueFd copy(static_cast<int>(syscall(SYS_pidfd_getfd, pidfd.get(), own.get(), 0)));
  if (!copy) return refused("pidfd_getfd", "pidfd_getfd", kPtraceMend);
  return {"pidfd_getfd", CheckState::ok, "works", ""};
}

CheckResult check_remote_read() {
  const IdleChild child;
  unsigned copy = 0;
  const iovec local{&copy, sizeof copy};
  const iovec remote{const_cast<unsigned*>(&IdleChild::word), sizeof copy};
  if (process_vm_readv(child.pid(), &local, 1, &remote, 1, 0) != sizeof copy) {
    return refused("remote_read", "process_vm_readv", kPtraceMend);
  }
  if (copy != IdleChild::word)
    return {"remote_read", CheckState::fail, "process_vm_readv read something else", kPtraceMend};
  return {"remote_read", CheckState::ok, "process_vm_readv works", ""};
}

CheckResult check_remote_write() {
  const IdleChild child;
  const UniqueFd memory(open(fmt::format("/proc/{}/mem", child.pid()).c_str(), O_RDWR | O_CLOEXEC));
  if (!memory) return refused("remote_write", "opening /proc/PID/mem for writing", kPtraceMend);
  // Program text: write-protected, as the [vdso] is that the harness overwrites.
  const auto address = reinterpret_cast<off_t>(&check_remote_write);
  unsigned char byte = 0;
  if (pread(memory.get(), &byte, 1, address) != 1) return refused("remote_write", "reading /proc/PID/mem", kPtraceMend);
  byte = static_cast<unsigned char>(~byte);
  if (pwrite(memory.get(), &byte, 1, address) != 1) {
    return refused("remote_write", "writing read-only memory through /proc/PID/mem",
                   "boot without proc_mem.force_override=never or =ptrace; in a container: --cap-add SYS_PTRACE");
  }
  return {"remote_write", CheckState::ok, "/proc/PID/mem writes read-only memory", ""};
}

CheckResult check_ptrace() { return run_in_child("ptrace", attach); }

CheckResult check_personality() {
  return run_in_child("personality", []() -> CheckResult {
    if (personality(ADDR_NO_RANDOMIZE) == -1) {
      return refused("personality", "personality(ADDR_NO_RANDOMIZE)",
                     "in a container: --security-opt seccomp=unconfined");
    }
    return {"personality", CheckState::ok, "address randomisation can be switched off", ""};
  });
}

}  // namespace halfsent
