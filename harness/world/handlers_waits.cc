// System calls that wait: decoded into a Wait and held until it is over.
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "harness/intercept/remote_memory.h"
#include "harness/world/engine.h"
#include "harness/world/proc_fs.h"
#include "harness/world/remote_time.h"

namespace halfsent {
namespace {

constexpr std::size_t max_descriptors = 4096;

// The descriptors of a select call as poll would be given them; nullopt when the sets cannot be read.
std::optional<std::vector<pollfd>> select_descriptors(pid_t tid, const seccomp_data& call) {
  const std::size_t count = std::min<std::size_t>(call.args[0], FD_SETSIZE);
  const std::size_t bytes = (count + 63) / 64 * 8;
  std::vector<pollfd> fds;
  std::uint64_t sets[3][FD_SETSIZE / 64] = {};
  for (std::size_t set = 0; set < 3; ++set)
    if (call.args[set + 1] != 0 && !read_remote(tid, call.args[set + 1], sets[set], bytes)) return std::nullopt;
  constexpr short events[] = {POLLIN, POLLOUT, POLLPRI};
  for (std::size_t fd = 0; fd < count; ++fd) {
    short wanted = 0;
    for (std::size_t set = 0; set < 3; ++set)
      if ((sets[set][fd / 64] >> (fd % 64) & 1) != 0) wanted = static_cast<short>(wanted | events[set]);
    if (wanted != 0) fds.push_back({.fd = static_cast<int>(fd), .events = wanted, .revents = 0});
  }
  return fds;
}

std::optional<std::uint64_t> read_mask(pid_t tid, std::uint64_t address) {
  if (address == 0) return std::nullopt;
  return read_remote_value<std::uint64_t>(tid, address);
}

// pselect6 takes the address of a pair {mask, size}.
std::optional<std::uint64_t> read_pselect_mask(pid_t tid, std::uint64_t address) {
  if (address == 0) return std::nullopt;
  const auto pair = read_remote_value<std::uint64_t>(tid, address);
  return pair ? read_mask(tid, *pair) : std::nullopt;
}

}  // namespace

void Engine::handle_sleep(Thread& thread) {
  const auto& call = thread.notification.data;
  const bool plain = call.nr == SYS_nanosleep;
  const std::optional<Nanoseconds> time = read_timespec(thread.tid, call.args[plain ? 0 : 2]);
  if (!time) return go_on(thread);  // the kernel says what is wrong with it
  Wait wait{.kind = Wait::Kind::sleep, .deadline = after(clock_.now(), *time)};
  if (!plain && (call.args[1] & TIMER_ABSTIME) != 0)
    wait.deadline = deadline_on(static_cast<clockid_t>(call.args[0]), *time, clock_, thread.process->actor->skew);
  if (wait.deadline <= clock_.now()) return reply(thread, 0);
  hold(thread, std::move(wait));
}

void Engine::handle_wait_fds(Thread& thread) {
  const auto& call = thread.notification.data;
  const pid_t tid = thread.tid;
  Wait wait{.kind = Wait::Kind::descriptors};
  std::optional<Nanoseconds> timeout;  // none: for ever
  std::uint64_t timeout_address = 0;
  switch (call.nr) {
    case SYS_poll:
    case SYS_ppoll:
      wait.fds.resize(std::min<std::size_t>(call.args[1], max_descriptors));
      if (!read_remote(tid, call.args[0], wait.fds.data(), wait.fds.size() * sizeof(pollfd))) return go_on(thread);
      if (call.nr == SYS_ppoll) {
        timeout_address = call.args[2];
        wait.signal_mask = read_mask(tid, call.args[3]);
      } else if (static_cast<int>(call.args[2]) >= 0) {
        timeout = std::chrono::milliseconds{static_cast<int>(call.args[2])};
      }
      break;
    case SYS_select:
    case SYS_pselect6: {
      auto fds = select_descriptors(tid, call);
      if (!fds) return go_on(thread);
      wait.fds = std::move(*fds);
      timeout_address = call.args[4];
      if (call.nr == SYS_pselect6) wait.signal_mask = read_pselect_mask(tid, call.args[5]);
      break;
    }
    default:  // epoll: its descriptor is readable when any of its members is ready
      wait.fds = {{.fd = static_cast<int>(call.args[0]), .events = POLLIN, .revents = 0}};
      if (call.nr == SYS_epoll_pwait2) {
        timeout_address = call.args[3];
      } else if (static_cast<int>(call.args[3]) >= 0) {
        timeout = std::chrono::milliseconds{static_cast<int>(call.args[3])};
      }
      if (call.nr != SYS_epoll_wait) wait.signal_mask = read_mask(tid, call.args[4]);
      wait.object = "epoll";
  }
  if (timeout_address != 0) {
    timeout = call.nr == SYS_select ? read_timeval(tid, timeout_address) : read_timespec(tid, timeout_address);
    if (!timeout) return go_on(thread);
  }
  if (wait.signal_mask) signals_possible_ = true;  // it may let one through that was blocked before
  // A look without waiting costs time too, so that a worker that only ever looks makes progress.
  if (timeout && timeout->count() == 0) {
    clock_.advance(VirtualClock::read_cost);
    return go_on(thread);
  }
  if (timeout) wait.deadline = after(clock_.now(), *timeout);
  hold(thread, std::move(wait));
}

void Engine::handle_read(Thread& thread, const SyscallRule& rule) {
  const auto& call = thread.notification.data;
  const int fd = static_cast<int>(call.args[0]);
  struct stat info {};
  const std::string link = "/proc/" + std::to_string(thread.process->pid) + "/fd/" + std::to_string(fd);
  if (::stat(link.c_str(), &info) != 0 || S_ISREG(info.st_mode) || S_ISDIR(info.st_mode)) return go_on(thread);
  const UniqueFd copy = duplicate(*thread.process, fd);
  if (!copy) return go_on(thread);
  const int flags = ::fcntl(copy.get(), F_GETFL);
  const bool no_wait_flag = (rule.number == SYS_recvfrom && (call.args[3] & MSG_DONTWAIT) != 0) ||
                            (rule.number == SYS_recvmsg && (call.args[2] & MSG_DONTWAIT) != 0);
  if ((flags & O_NONBLOCK) != 0 || no_wait_flag) return go_on(thread);
  Wait wait{.kind = Wait::Kind::descriptors, .fds = {{.fd = fd, .events = POLLIN, .revents = 0}}};
  wait.object = S_ISSOCK(info.st_mode) ? "socket" : S_ISFIFO(info.st_mode) ? "pipe" : "device";
  // The kernel's own time-out never runs out, because the call goes to the kernel only when it will not block.
  timeval timeout{};
  socklen_t size = sizeof timeout;
  if (S_ISSOCK(info.st_mode) && ::getsockopt(copy.get(), SOL_SOCKET, SO_RCVTIMEO, &timeout, &size) == 0 &&
      (timeout.tv_sec != 0 || timeout.tv_usec != 0))
    wait.deadline = after(clock_.now(), from_timespec({.tv_sec = timeout.tv_sec, .tv_nsec = timeout.tv_usec * 1000}));
  hold(thread, std::move(wait));
}

void Engine::handle_futex(Thread& thread) {
  const auto& call = thread.notification.data;
  const int operation = static_cast<int>(call.args[1]) & FUTEX_CMD_MASK;
  const bool is_private = (call.args[1] & FUTEX_PRIVATE_FLAG) != 0;
  const std::uint64_t address = call.args[0];
  const auto wake = [&](std::uint64_t at, std::uint64_t most) {
    std::uint64_t woken = 0;
    for (auto& [tid, other] : threads_) {
      if (woken == most) break;
      if (other->state != Thread::State::held || other->wait->kind != Wait::Kind::futex || other->wait->woken ||
          other->wait->address != at)
        continue;
      if ((is_private || other->wait->is_private) && other->process != thread.process) continue;
      other->wait->woken = true;
      ++woken;
    }
    return woken;
  };
  switch (operation) {
    case FUTEX_WAIT:
    case FUTEX_WAIT_BITSET: {
      const auto word = read_remote_value<std::uint32_t>(thread.tid, address);
      if (!word) return go_on(thread);
      if (*word != static_cast<std::uint32_t>(call.args[2])) return reply(thread, 0, EAGAIN);
      Wait wait{.kind = Wait::Kind::futex, .address = address, .word = *word, .is_private = is_private};
      if (call.args[3] != 0) {
        const auto time = read_timespec(thread.tid, call.args[3]);
        if (!time) return go_on(thread);
        const clockid_t clock = (call.args[1] & FUTEX_CLOCK_REALTIME) != 0 ? CLOCK_REALTIME : CLOCK_MONOTONIC;
        wait.deadline = operation == FUTEX_WAIT ? after(clock_.now(), *time)
                                                : deadline_on(clock, *time, clock_, thread.process->actor->skew);
        if (wait.deadline <= clock_.now()) return reply(thread, 0, ETIMEDOUT);
      }
      return hold(thread, std::move(wait));
    }
    case FUTEX_WAKE:
    case FUTEX_WAKE_BITSET:
      return reply(thread, static_cast<std::int64_t>(wake(address, call.args[2] & 0x7fffffff)));
    case FUTEX_REQUEUE:
    case FUTEX_CMP_REQUEUE:
    case FUTEX_WAKE_OP:
      // Waking too many is allowed: every waiter looks at its word again.
      wake(address, ~0ull);
      wake(call.args[4], ~0ull);
      return go_on(thread);
    case FUTEX_LOCK_PI:
    case FUTEX_LOCK_PI2:
    case FUTEX_WAIT_REQUEUE_PI:
      if (call.args[3] != 0)
        return give_up("unsupported wait futex_lock_pi", thread.process->actor->name + " called it with a time-out");
      return go_on(thread);
    default:
      return go_on(thread);
  }
}

void Engine::handle_wait_child(Thread& thread) {
  const auto& call = thread.notification.data;
  const bool plain = call.nr == SYS_wait4;
  const std::uint64_t options = call.args[plain ? 2 : 3];
  if ((options & WNOHANG) != 0) {
    clock_.advance(VirtualClock::read_cost);
    return go_on(thread);
  }
  Wait wait{.kind = Wait::Kind::child, .object = "child"};
  if (plain) {
    wait.child = static_cast<int>(call.args[0]);
  } else if (call.args[0] == P_PID) {
    wait.child = static_cast<int>(call.args[1]);
  }
  hold(thread, std::move(wait));
}

void Engine::handle_wait_signal(Thread& thread) {
  const auto& call = thread.notification.data;
  Wait wait{.kind = Wait::Kind::signal, .object = "signal"};
  if (call.nr == SYS_rt_sigsuspend) wait.signal_mask = read_mask(thread.tid, call.args[0]);
  if (call.nr == SYS_rt_sigtimedwait) {
    wait.wanted_signals = read_mask(thread.tid, call.args[0]).value_or(0);
    if (call.args[2] != 0) {
      const auto time = read_timespec(thread.tid, call.args[2]);
      if (!time) return go_on(thread);
      wait.deadline = after(clock_.now(), *time);
    }
  }
  signals_possible_ = true;  // one may have been pending before
  hold(thread, std::move(wait));
}

}  // namespace halfsent
