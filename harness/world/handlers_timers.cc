// Timers of the workers (alarm, setitimer, timer_create): kept on virtual time, their signals sent by us.
#include <signal.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "harness/intercept/remote_memory.h"
#include "harness/world/engine.h"
#include "harness/world/proc_fs.h"
#include "harness/world/remote_time.h"

namespace halfsent {
namespace {

constexpr int real_timer = -1;  // ITIMER_REAL, shared by alarm and setitimer

timeval to_timeval(Nanoseconds time) {
  const timespec spec = to_timespec(time);
  return {.tv_sec = spec.tv_sec, .tv_usec = spec.tv_nsec / 1000};
}

Nanoseconds left(const VirtualTimer& timer, Nanoseconds now) {
  return timer.deadline.count() < 0 ? Nanoseconds{0} : std::max(timer.deadline - now, Nanoseconds{1000});
}

void arm(VirtualTimer& timer, Nanoseconds now, Nanoseconds value, Nanoseconds interval) {
  timer.deadline = value.count() == 0 ? Nanoseconds{-1} : after(now, value);
  timer.interval = interval;
}

}  // namespace

void Engine::handle_timer(Thread& thread) {
  const auto& call = thread.notification.data;
  Process& process = *thread.process;
  const pid_t tid = thread.tid;
  const Nanoseconds now = clock_.now();
  switch (call.nr) {
    case SYS_alarm: {
      VirtualTimer& timer = timer_of(process, real_timer);
      const Nanoseconds before = left(timer, now);
      timer.signal = SIGALRM;
      arm(timer, now, std::chrono::seconds{static_cast<unsigned>(call.args[0])}, Nanoseconds{0});
      return reply(thread, std::chrono::ceil<std::chrono::seconds>(before).count());
    }
    case SYS_setitimer:
    case SYS_getitimer: {
      if (call.args[0] != ITIMER_REAL) return go_on(thread);  // counts CPU time, which is not ours
      VirtualTimer& timer = timer_of(process, real_timer);
      const itimerval before{to_timeval(timer.interval), to_timeval(left(timer, now))};
      const std::uint64_t old_address = call.args[call.nr == SYS_setitimer ? 2 : 1];
      if (call.nr == SYS_setitimer && call.args[1] != 0) {
        const auto interval = read_timeval(tid, call.args[1]);
        const auto value = read_timeval(tid, call.args[1] + sizeof(timeval));
        if (!interval || !value) return reply(thread, 0, EINVAL);
        timer.signal = SIGALRM;
        arm(timer, now, *value, *interval);
      }
      if (old_address != 0 && !write_remote(tid, old_address, &before, sizeof before)) return reply(thread, 0, EFAULT);
      return reply(thread, 0);
    }
    case SYS_timer_create: {
      VirtualTimer timer{.id = 0, .signal = SIGALRM};
      for (const VirtualTimer& other : process.timers) timer.id = std::max(timer.id, other.id + 1);
      if (call.args[1] != 0) {
        const auto event = read_remote_value<sigevent>(tid, call.args[1]);
        if (!event) return reply(thread, 0, EFAULT);
        timer.signal = event->sigev_notify == SIGEV_NONE ? 0 : event->sigev_signo;
        std::memcpy(&timer.value, &event->sigev_value, sizeof timer.value);
        if (event->sigev_notify == SIGEV_THREAD_ID) timer.thread = event->_sigev_un._tid;
      } else {
        timer.value = static_cast<std::uint64_t>(timer.id);
      }
      const int id = timer.id;
      if (!write_remote(tid, call.args[2], &id, sizeof id)) return reply(thread, 0, EFAULT);
      process.timers.push_back(timer);
      return reply(thread, 0);
    }
    default:
      return handle_posix_timer(thread);
  }
}

// timer_settime, timer_gettime, timer_getoverrun, timer_delete: of a timer that timer_create made.
void Engine::handle_posix_timer(Thread& thread) {
  const auto& call = thread.notification.data;
  Process& process = *thread.process;
  const pid_t tid = thread.tid;
  const Nanoseconds now = clock_.now();
  const int id = static_cast<int>(call.args[0]);
  const auto found =
      std::find_if(process.timers.begin(), process.timers.end(), [&](const VirtualTimer& t) { return t.id == id; });
  if (id < 0 || found == process.timers.end()) return reply(thread, 0, EINVAL);
  VirtualTimer& timer = *found;
  if (call.nr == SYS_timer_delete) {
    process.timers.erase(found);
    return reply(thread, 0);
  }
  if (call.nr == SYS_timer_getoverrun) return reply(thread, 0);
  const itimerspec before{to_timespec(timer.interval), to_timespec(left(timer, now))};
  const std::uint64_t old_address = call.args[call.nr == SYS_timer_settime ? 3 : 1];
  if (call.nr == SYS_timer_settime) {
    const auto interval = read_timespec(tid, call.args[2]);
    const auto value = read_timespec(tid, call.args[2] + sizeof(timespec));
    if (!interval || !value) return reply(thread, 0, EINVAL);
    arm(timer, now, *value, *interval);
    // Absolute times are taken as of the monotonic clock when they lie near it, else of the wall clock.
    if (value->count() != 0 && (call.args[1] & TIMER_ABSTIME) != 0) {
      const bool monotonic = *value < clock_.start_since_epoch() / 2;
      timer.deadline =
          std::max(now, deadline_on(monotonic ? CLOCK_MONOTONIC : CLOCK_REALTIME, *value, clock_, process.actor->skew));
    }
  }
  if (old_address != 0 && !write_remote(tid, old_address, &before, sizeof before)) return reply(thread, 0, EFAULT);
  reply(thread, 0);
}

bool Engine::fire_timers() {
  bool fired = false;
  for (auto& actor : actors_) {
    if (actor->held_until) continue;  // it gets them when it is released
    for (auto& process : actor->processes) {
      if (process->dead) continue;
      for (VirtualTimer& timer : process->timers) {
        if (timer.deadline.count() < 0 || timer.deadline > clock_.now()) continue;
        timer.deadline = timer.interval.count() > 0 ? clock_.now() + timer.interval : Nanoseconds{-1};
        if (timer.signal != 0) send_signal(*process, timer);
        fired = true;
      }
    }
  }
  return fired;
}

void Engine::send_signal(const Process& process, const VirtualTimer& timer) {
  signals_possible_ = true;
  if (timer.id < 0) {
    (void)::syscall(SYS_pidfd_send_signal, process.pidfd.get(), timer.signal, nullptr, 0);
    return;
  }
  siginfo_t info{};
  info.si_signo = timer.signal;
  info.si_code = SI_TIMER;
  info.si_timerid = timer.id;
  std::memcpy(&info.si_value, &timer.value, sizeof timer.value);
  pid_t thread = process.pid;
  for (const auto& candidate : process.threads) {
    const std::optional<ProcStatus> status = read_status(candidate->tid);
    if (timer.thread != 0 && status && status->world_thread == timer.thread) thread = candidate->tid;
  }
  if (timer.thread != 0) {
    (void)::syscall(SYS_rt_tgsigqueueinfo, process.pid, thread, timer.signal, &info);
  } else {
    (void)::syscall(SYS_rt_sigqueueinfo, process.pid, timer.signal, &info);
  }
}

}  // namespace halfsent
