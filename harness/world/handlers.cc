// One system call: which handler it gets, and the handlers that answer at once.
#include <fcntl.h>
#include <linux/sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/times.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "harness/intercept/image.h"
#include "harness/intercept/listener.h"
#include "harness/intercept/remote_memory.h"
#include "harness/world/engine.h"
#include "harness/world/keyed_random.h"
#include "harness/world/proc_fs.h"
#include "harness/world/remote_time.h"

namespace halfsent {
namespace {

// Calls that we answer at once, one after another. A Python interpreter starts with a few hundred of them.
constexpr int max_calls_in_turn = 2000;

}  // namespace

void Engine::on_notification(Process& root) {
  const std::optional<seccomp_notif> notification = receive(root.listener->get());
  if (!notification) return;
  const pid_t tid = static_cast<pid_t>(notification->pid);
  Thread* thread = find_thread(tid);
  if (thread == nullptr) thread = adopt_unknown(root, tid);
  if (thread == nullptr) return;
  ++result_.stops;
  thread->notification = *notification;
  thread->wait.reset();
  thread->effect.reset();
  thread->recorded = false;
  thread->signal_waits = false;
  thread->vforks = false;
  thread->cpu_ticks_mark = 0;
  Process& process = *thread->process;
  if (process.wants_output) give_output(*thread);
  if (thread->has_forked) {
    thread->has_forked = false;
    find_new_tasks(process);
  }
  set_state(*thread, Thread::State::running);
  // Who one is does not depend on what others do, and code that spins may wait for one who asks.
  const SyscallRule* rule = find_rule(notification->data.nr);
  if (rule != nullptr && rule->treatment == Treatment::identity && !(template_watch_ && ends_template(*thread, *rule)))
    return go_on(*thread);
  if (&process != turn_process_ || signals_possible_ || others_run(process))
    return set_state(*thread, Thread::State::pending);
  handle_in_turn(*thread);
}

void Engine::handle_in_turn(Thread& thread) {
  if (++thread.process->calls_in_turn > max_calls_in_turn) {
    if (!template_watch_) return yield_turn(thread);
    --thread.process->calls_in_turn;  // so will its forks find it
    template_watch_->reached = true;
    return set_state(thread, Thread::State::parked);
  }
  handle(thread);
}

// Code that looks again and again for what another process has to do (or a timer) would look for ever: only it runs.
// Time goes by faster the longer this lasts.
void Engine::yield_turn(Thread& thread) {
  constexpr int most_doublings = 13;  // of 100 us: 0.8 s
  Process& process = *thread.process;
  set_state(thread, Thread::State::pending);
  Nanoseconds cost = VirtualClock::step_cost * (1 << std::min(process.spins++, most_doublings));
  if (const std::optional<Nanoseconds> nearest = nearest_deadline())
    cost = std::min(cost, std::max(*nearest - clock_.now(), VirtualClock::step_cost));
  clock_.advance(cost);
  process.yields = true;
  turn_process_ = nullptr;
}

void Engine::go_on(Thread& thread) {
  set_state(thread, Thread::State::running);
  (void)let_continue(thread.process->listener->get(), thread.notification.id);
}

void Engine::reply(Thread& thread, std::int64_t value, int error) {
  set_state(thread, Thread::State::running);
  (void)answer(thread.process->listener->get(), thread.notification.id, value, error);
}

void Engine::park(Thread& thread, Effect effect) {
  note_change(effect, find_rule(thread.notification.data.nr)->treatment);
  thread.effect = std::move(effect);
  thread.process->spins = 0;
  set_state(thread, Thread::State::parked);
}

void Engine::hold(Thread& thread, Wait wait) {
  thread.wait = std::move(wait);
  set_state(thread, Thread::State::held);
  if (signals_possible_) check_signals(*thread.process);
  // What is there already is no wait.
  if (thread.signal_waits || (thread.wait->kind != Wait::Kind::sleep && is_ready(thread))) return end_wait(thread);
  if (thread.wait->kind == Wait::Kind::posix_lock && closes_lock_cycle(thread)) return reply(thread, 0, EDEADLK);
  thread.process->spins = 0;
}

void Engine::handle(Thread& thread) {
  const SyscallRule* rule = find_rule(thread.notification.data.nr);
  if (rule == nullptr) return go_on(thread);
  if (template_watch_ && ends_template(thread, *rule)) {
    template_watch_->reached = true;
    return set_state(thread, Thread::State::parked);
  }
  switch (rule->treatment) {
    case Treatment::write:
      return handle_write(thread, *rule);
    case Treatment::send:
      return handle_send(thread, *rule);
    case Treatment::connect:
      return handle_connect(thread);
    case Treatment::file_sync:
      return handle_file_sync(thread, *rule);
    case Treatment::path_effect:
      return handle_path_effect(thread, *rule);
    case Treatment::open:
      return handle_open(thread, *rule);
    case Treatment::look_up:
      return handle_look_up(thread, *rule);
    case Treatment::lock:
      return handle_lock(thread, *rule);
    case Treatment::clock:
      return handle_clock(thread);
    case Treatment::sleep:
      return handle_sleep(thread);
    case Treatment::wait_fds:
      return handle_wait_fds(thread);
    case Treatment::read:
      return handle_read(thread, *rule);
    case Treatment::futex:
      return handle_futex(thread);
    case Treatment::wait_child:
      return handle_wait_child(thread);
    case Treatment::wait_signal:
      return handle_wait_signal(thread);
    case Treatment::timer:
      return handle_timer(thread);
    case Treatment::random:
      return handle_random(thread);
    case Treatment::fork:
      return handle_fork(thread);
    case Treatment::thread_exit:
      return handle_thread_exit(thread);
    case Treatment::process_exit:
      return handle_process_exit(thread);
    case Treatment::image:
      return handle_image(thread);
    case Treatment::signal:
      signals_possible_ = true;
      return go_on(thread);
    case Treatment::identity:
      return go_on(thread);
    case Treatment::shared_objects:
      return handle_shared_objects(thread);
    case Treatment::set_clock:
      return reply(thread, 0, EPERM);
    case Treatment::refuse:
      return reply(thread, 0, ENOSYS);
    case Treatment::unsupported:
      return handle_unsupported(thread, *rule);
  }
}

// Without a time-out these are waits like any other: the kernel's.
void Engine::handle_unsupported(Thread& thread, const SyscallRule& rule) {
  const bool fourth = rule.number == SYS_semtimedop || rule.name == "futex_waitv";
  if (thread.notification.data.args[fourth ? 3 : 4] == 0) return go_on(thread);
  set_state(thread, Thread::State::pending);
  give_up("unsupported wait " + std::string(rule.name),
          thread.process->actor->name + " called it; its time-out is not under control");
}

// The IPC namespace of a forked process is that of the world its template was made in.
void Engine::handle_shared_objects(Thread& thread) {
  if (!thread.process->is_forked) return go_on(thread);
  template_failed_ = true;
  fail(Error{.message = thread.process->actor->name + " uses SysV IPC or message queues, which a forked process cannot",
             .mend = "set fork_server = false in [world]"});
}

void Engine::handle_clock(Thread& thread) {
  const auto& call = thread.notification.data;
  const Actor& actor = *thread.process->actor;
  clock_.advance(VirtualClock::read_cost);
  const pid_t tid = thread.tid;
  switch (call.nr) {
    case SYS_clock_gettime: {
      const std::optional<Nanoseconds> now = read_clock(static_cast<clockid_t>(call.args[0]), clock_, actor.skew);
      if (!now) return go_on(thread);
      const timespec value = to_timespec(*now);
      return write_remote(tid, call.args[1], &value, sizeof value) ? reply(thread, 0) : reply(thread, 0, EFAULT);
    }
    case SYS_gettimeofday: {
      const timespec now = to_timespec(wall_clock(actor));
      const timeval value{now.tv_sec, now.tv_nsec / 1000};
      if (call.args[0] != 0 && !write_remote(tid, call.args[0], &value, sizeof value)) return reply(thread, 0, EFAULT);
      return reply(thread, 0);
    }
    case SYS_time: {
      const time_t value = to_timespec(wall_clock(actor)).tv_sec;
      if (call.args[0] != 0 && !write_remote(tid, call.args[0], &value, sizeof value)) return reply(thread, 0, EFAULT);
      return reply(thread, value);
    }
    default: {  // times
      const tms none{};
      if (call.args[0] != 0 && !write_remote(tid, call.args[0], &none, sizeof none)) return reply(thread, 0, EFAULT);
      return reply(thread, clock_.since_boot() / std::chrono::milliseconds{10});
    }
  }
}

std::string Engine::draw(Process& process, std::size_t bytes) const {
  return random_bytes({setup_.seed, process.actor->name, process.incarnation, process.index, ++process.random_calls},
                      bytes);
}

void Engine::handle_random(Thread& thread) {
  const auto& call = thread.notification.data;
  Process& process = *thread.process;
  const std::size_t wanted = std::min<std::size_t>(call.args[1], 1 << 20);
  const std::string bytes = draw(process, wanted);
  if (!write_remote(thread.tid, call.args[0], bytes.data(), bytes.size())) return reply(thread, 0, EFAULT);
  reply(thread, static_cast<std::int64_t>(bytes.size()));
}

void Engine::handle_fork(Thread& thread) {
  const auto& call = thread.notification.data;
  std::uint64_t flags = 0;
  if (call.nr == SYS_clone) flags = call.args[0];
  if (call.nr == SYS_clone3) flags = read_remote_value<std::uint64_t>(thread.tid, call.args[0]).value_or(0);
  if (call.nr == SYS_vfork) flags = CLONE_VFORK;
  thread.has_forked = true;
  thread.vforks = (flags & CLONE_VFORK) != 0;  // it sleeps from when the child is there to the child's exec or end
  go_on(thread);
}

void Engine::handle_image(Thread& thread) {
  constexpr std::uint64_t arch_set_fs = 0x1002;
  Process& process = *thread.process;
  if (thread.notification.data.args[0] != arch_set_fs) return go_on(thread);
  const std::string bytes = draw(process, 16);
  std::array<std::byte, 16> at_random;
  std::memcpy(at_random.data(), bytes.data(), at_random.size());
  if (const std::string problem = prepare_image(process.pid, at_random); !problem.empty()) {
    fail(Error{.message = "cannot take over the clock of " + process.actor->name + ": " + problem,
               .mend = "run `halfsent doctor`; workers must be allowed to be traced"});
    return;
  }
  // An exec ends the process's other threads.
  while (process.threads.size() > 1) forget_thread(*process.threads[process.threads.front().get() == &thread ? 1 : 0]);
  std::erase_if(process.timers, [](const VirtualTimer& timer) { return timer.id >= 0; });
  go_on(thread);
}

void Engine::handle_thread_exit(Thread& thread) {
  Process& process = *thread.process;
  process.exit_code = static_cast<int>(thread.notification.data.args[0] & 0xff);  // if it is the last
  go_on(thread);
  // The last thread's exit is the process's, which its pidfd tells. Others leave at once, and wake those that join
  // them; the first thread stays as a zombie.
  if (process.threads.size() == 1) return;
  const auto leaves = [&] {
    const std::optional<ProcStat> stat = read_stat(process.pid, thread.tid);
    return stat && stat->state != 'Z';
  };
  while (leaves()) ::sched_yield();
  if (thread.tid == process.pid) return set_state(thread, Thread::State::in_kernel);
  forget_thread(thread);
}

void Engine::handle_process_exit(Thread& thread) {
  thread.process->exit_code = static_cast<int>(thread.notification.data.args[0] & 0xff);
  go_on(thread);
}

VirtualTimer& Engine::timer_of(Process& process, int id) {
  const auto found =
      std::find_if(process.timers.begin(), process.timers.end(), [&](const VirtualTimer& t) { return t.id == id; });
  if (found != process.timers.end()) return *found;
  process.timers.push_back({.id = id});
  return process.timers.back();
}

}  // namespace halfsent
