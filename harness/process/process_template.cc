#include "harness/process/process_template.h"

#include <fmt/format.h>
#include <poll.h>
#include <sched.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <initializer_list>
#include <optional>
#include <utility>

#include "harness/intercept/listener.h"

namespace halfsent {
namespace {

constexpr std::uint64_t kSyscallBytes = 2;  // of the instruction
constexpr int kAnswerLimitMs = 10'000;      // only a watchdog

Error failed(const char* what, int error = errno) {
  return Error{.message = fmt::format("cannot fork a started process: {}: {}", what, std::strerror(error)),
               .mend = "set fork_server = false in [world]; run `halfsent doctor`"};
}

// The event that it has stopped with, 0 for none (a system call), nullopt when it is gone or has met a signal.
std::optional<int> wait_for_stop(pid_t pid) {
  int status = 0;
  while (::waitpid(pid, &status, __WALL) < 0)
    if (errno != EINTR) return std::nullopt;
  if (!WIFSTOPPED(status)) return std::nullopt;
  const int signal = WSTOPSIG(status);
  if (signal == (SIGTRAP | 0x80)) return 0;
  const int event = status >> 16;
  return event != 0 ? std::optional(event) : std::nullopt;
}

bool set_registers(pid_t pid, const user_regs_struct& registers) {
  return ::ptrace(PTRACE_SETREGS, pid, nullptr, &registers) == 0;
}

bool step_to_system_call(pid_t pid) {
  return ::ptrace(PTRACE_SYSCALL, pid, nullptr, nullptr) == 0 && wait_for_stop(pid) == 0;
}

// Has the stopped process make a system call that is not trapped; what it returns, -errno of ours when that fails.
long make_call(pid_t pid, const user_regs_struct& registers) {
  user_regs_struct after{};
  const bool made = set_registers(pid, registers) && step_to_system_call(pid) && step_to_system_call(pid) &&
                    ::ptrace(PTRACE_GETREGS, pid, nullptr, &after) == 0;
  return made ? static_cast<long>(after.rax) : -errno;
}

// A traced process tells its stops too, up to its end.
void reap_traced(pid_t pid) {
  int status = 0;
  do {
    if (::waitpid(pid, &status, __WALL) < 0 && errno != EINTR) return;
  } while (!WIFEXITED(status) && !WIFSIGNALED(status));
}

}  // namespace

Result<ProcessTemplate> ProcessTemplate::take(pid_t pid, int listener, std::uint64_t notification, int number) {
  ProcessTemplate made(pid, listener, number);
  const long options = PTRACE_O_TRACEFORK | PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL;
  if (::ptrace(PTRACE_SEIZE, pid, nullptr, options) != 0) return failed("ptrace");
  // It waits for an answer in a way that nothing but death ends; the interruption takes effect when it gets one, before
  // it can run on.
  if (::ptrace(PTRACE_INTERRUPT, pid, nullptr, nullptr) != 0) return failed("ptrace");
  (void)answer(listener, notification, 0, EINTR);
  if (wait_for_stop(pid) != PTRACE_EVENT_STOP) return failed("it did not stop", 0);
  if (::ptrace(PTRACE_GETREGS, pid, nullptr, &made.stopped_at_) != 0) return failed("ptrace");
  return made;
}

ProcessTemplate::ProcessTemplate(ProcessTemplate&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      listener_(other.listener_),
      number_(other.number_),
      stopped_at_(other.stopped_at_) {}

ProcessTemplate::~ProcessTemplate() {
  if (pid_ < 0) return;
  ::kill(pid_, SIGKILL);
  reap_traced(pid_);
}

user_regs_struct ProcessTemplate::registers_for(std::uint64_t number) const {
  user_regs_struct registers = stopped_at_;
  registers.rax = number;
  registers.orig_rax = static_cast<unsigned long long>(-1);  // no restart on top of ours
  registers.rip -= kSyscallBytes;
  return registers;
}

// clone is trapped as every fork is.
Result<void> ProcessTemplate::let_clone_pass() const {
  pollfd wait{.fd = listener_, .events = POLLIN, .revents = 0};
  if (::poll(&wait, 1, kAnswerLimitMs) != 1) return failed("it makes no call", ETIMEDOUT);
  const std::optional<seccomp_notif> notification = receive(listener_);
  if (!notification || static_cast<pid_t>(notification->pid) != pid_) return failed("somebody else makes a call", 0);
  if (!let_continue(listener_, notification->id)) return failed("clone");
  return {};
}

Result<pid_t> ProcessTemplate::fork(const std::string& cwd) {
  user_regs_struct clone = registers_for(SYS_clone);
  clone.rdi = CLONE_PARENT | SIGCHLD;
  clone.rsi = clone.rdx = clone.r10 = clone.r8 = clone.r9 = 0;
  if (!set_registers(pid_, clone) || ::ptrace(PTRACE_CONT, pid_, nullptr, nullptr) != 0) return failed("ptrace");
  if (Result<void> passed = let_clone_pass(); !passed) return passed.error();
  if (wait_for_stop(pid_) != PTRACE_EVENT_FORK) return failed("clone failed", 0);
  unsigned long child = 0;
  if (::ptrace(PTRACE_GETEVENTMSG, pid_, nullptr, &child) != 0) return failed("ptrace");
  const auto pid = static_cast<pid_t>(child);
  // To the end of the call, where registers can be set again.
  Result<void> ready = step_to_system_call(pid_) ? send_off(pid, cwd) : failed("the template is gone", 0);
  if (ready) return pid;
  ::kill(pid, SIGKILL);
  reap_traced(pid);
  return ready.error();
}

Result<void> ProcessTemplate::send_off(pid_t pid, const std::string& cwd) const {
  if (wait_for_stop(pid) != PTRACE_EVENT_STOP) return failed("the child did not stop", 0);
  if (const long session = make_call(pid, registers_for(SYS_setsid)); session < 0)
    return failed("setsid", static_cast<int>(-session));
  // Below the red zone nothing of the program's lives.
  user_regs_struct chdir = registers_for(SYS_chdir);
  chdir.rdi = (stopped_at_.rsp - 512 - cwd.size()) & ~std::uint64_t{15};
  const iovec ours{const_cast<char*>(cwd.c_str()), cwd.size() + 1};
  const iovec theirs{reinterpret_cast<void*>(chdir.rdi), cwd.size() + 1};
  if (::process_vm_writev(pid, &ours, 1, &theirs, 1, 0) != static_cast<ssize_t>(cwd.size() + 1))
    return failed("writing to the child");
  if (const long moved = make_call(pid, chdir); moved < 0) return failed("chdir", static_cast<int>(-moved));
  if (!set_registers(pid, registers_for(static_cast<std::uint64_t>(number_))) ||
      ::ptrace(PTRACE_DETACH, pid, nullptr, nullptr) != 0)
    return failed("ptrace");
  return {};
}

}  // namespace halfsent
