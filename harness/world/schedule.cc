// Who goes next, and what time it is.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/select.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "harness/intercept/remote_memory.h"
#include "harness/world/engine.h"
#include "harness/world/proc_fs.h"
#include "harness/world/remote_time.h"

namespace halfsent {

// Actors take turns in their fixed order, one release each.
bool Engine::release_next() {
  release_holds();
  for (std::size_t i = 0; i < actors_.size(); ++i) {
    const std::size_t index = (turn_ + i) % actors_.size();
    Actor& actor = *actors_[index];
    if (actor.held_until || !release_one_of(actor)) continue;
    turn_ = (index + 1) % actors_.size();
    return true;
  }
  return false;
}

void Engine::release_holds() {
  for (auto& actor : actors_) {
    if (actor->refused_until && *actor->refused_until <= clock_.now()) {
      actor->refused_until.reset();
      actor->refused = false;
    }
    if (!actor->held_until || *actor->held_until > clock_.now()) continue;
    actor->held_until.reset();
    record(actor.get(), actor->incarnation, 0, Released{});
  }
}

// Within an actor the process that ran last goes on; then the others in the order of their creation.
bool Engine::release_one_of(Actor& actor) {
  std::vector<Process*> order;
  if (actor.current != nullptr && !actor.current->dead) order.push_back(actor.current);
  for (auto& process : actor.processes)
    if (!process->dead && process.get() != actor.current) order.push_back(process.get());
  for (Process* process : order) {
    for (auto& thread : process->threads) {
      const int incarnation = process->incarnation;
      const int index = process->index;
      if (!release(*thread)) continue;
      actor.current = process;
      last_actor_ = &actor;
      last_incarnation_ = incarnation;
      last_process_ = index;
      return true;
    }
  }
  return false;
}

bool Engine::release(Thread& thread) {
  Process* const before = turn_process_;
  turn_process_ = thread.process;
  switch (thread.state) {
    case Thread::State::pending:
      set_state(thread, Thread::State::running);
      handle(thread);
      return true;
    case Thread::State::parked:
      if (thread.wait && !is_ready(thread)) break;
      clock_.advance(VirtualClock::step_cost);
      release_effect(thread);
      return true;
    case Thread::State::held:
      if (thread.signal_waits || is_ready(thread)) {
        clock_.advance(VirtualClock::step_cost);
        end_wait(thread);
        return true;
      }
      if (thread.wait->deadline.count() >= 0 && thread.wait->deadline <= clock_.now()) {
        time_out(thread);
        return true;
      }
      break;
    default: break;
  }
  turn_process_ = before;
  return false;
}

void Engine::release_effect(Thread& thread) {
  const Effect& effect = *thread.effect;
  Process& process = *thread.process;
  if (effect.to_downstream) {
    if (effect.is_connect && process.actor->refused) return reply(thread, 0, ECONNREFUSED);
    if (effect.local_port != 0) {
      Connection& connection = connections_[effect.local_port];
      connection = {&process, process.actor, process.incarnation, process.index, connection.process == &process ? connection.first_send : no_seq};
      if (connection.first_send == no_seq) connection.first_send = effect.seq;
    }
  }
  network_dirty_ = true;
  if (thread.wait && thread.wait->kind == Wait::Kind::description_lock) return reply(thread, 0);  // is_ready took it
  go_on(thread);
}

bool Engine::is_ready(Thread& thread) {
  Wait& wait = *thread.wait;
  switch (wait.kind) {
    case Wait::Kind::sleep:
    case Wait::Kind::signal: return false;
    case Wait::Kind::descriptors: return any_descriptor_ready(thread);
    case Wait::Kind::futex:
      return wait.woken || read_remote_value<std::uint32_t>(thread.tid, wait.address).value_or(~wait.word) != wait.word;
    case Wait::Kind::child: return child_has_ended(thread);
    case Wait::Kind::posix_lock: return posix_lock_is_free(thread);
    case Wait::Kind::description_lock: return take_lock_for(thread);
  }
  return false;
}

bool Engine::any_descriptor_ready(const Thread& thread) const {
  std::vector<UniqueFd> copies;
  std::vector<pollfd> ours;
  for (const pollfd& wanted : thread.wait->fds) {
    if (wanted.fd < 0) continue;
    copies.push_back(duplicate(*thread.process, wanted.fd));
    if (!copies.back()) return true;  // closed: the kernel says so at once
    ours.push_back({.fd = copies.back().get(), .events = wanted.events, .revents = 0});
  }
  return ::poll(ours.data(), ours.size(), 0) > 0;
}

bool Engine::child_has_ended(const Thread& thread) const {
  const Process& parent = *thread.process;
  bool any_child = false;
  for (const auto& child : parent.actor->processes) {
    if (child->parent != &parent || child->reaped) continue;
    if (thread.wait->child > 0 && child->world_pid != thread.wait->child) continue;
    if (child->dead) {
      // A zombie still takes signals; one that has been waited for is gone.
      if (::syscall(SYS_pidfd_send_signal, child->pidfd->native_handle(), 0, nullptr, 0) == 0) return true;
      child->reaped = true;
      continue;
    }
    any_child = true;
  }
  return !any_child;  // nothing to wait for: the kernel says ECHILD
}

bool Engine::posix_lock_is_free(const Thread& thread) const {
  const auto& call = thread.notification.data;
  auto lock = read_remote_value<struct flock>(thread.tid, call.args[2]);
  const UniqueFd copy = duplicate(*thread.process, static_cast<int>(call.args[0]));
  if (!lock || !copy || ::fcntl(copy.get(), F_GETLK, &*lock) != 0) return true;
  return lock->l_type == F_UNLCK || lock->l_pid == thread.process->pid;
}

// flock and OFD locks belong to the open file, which our copy shares: what we take is the worker's.
bool Engine::take_lock_for(const Thread& thread) const {
  const auto& call = thread.notification.data;
  const UniqueFd copy = duplicate(*thread.process, static_cast<int>(call.args[0]));
  if (!copy) return true;
  if (call.nr == SYS_flock) return ::flock(copy.get(), static_cast<int>(call.args[1]) | LOCK_NB) == 0 || errno != EWOULDBLOCK;
  auto lock = read_remote_value<struct flock>(thread.tid, call.args[2]);
  return !lock || ::fcntl(copy.get(), F_OFD_SETLK, &*lock) == 0 || (errno != EAGAIN && errno != EACCES);
}

void Engine::end_wait(Thread& thread) {
  const auto& call = thread.notification.data;
  const Wait& wait = *thread.wait;
  if (thread.signal_waits) {
    signals_possible_ = true;  // handlers run now and may let others through
    if (wait.kind != Wait::Kind::sleep && wait.kind != Wait::Kind::futex) return go_on(thread);  // the kernel sees the signal itself
    if (wait.kind == Wait::Kind::sleep) {
      const bool plain = call.nr == SYS_nanosleep;
      const std::uint64_t address = call.args[plain ? 1 : 3];
      const timespec left = to_timespec(std::max(wait.deadline - clock_.now(), Nanoseconds{0}));
      if (address != 0 && (plain || (call.args[1] & TIMER_ABSTIME) == 0)) (void)write_remote(thread.tid, address, &left, sizeof left);
    }
    return reply(thread, 0, EINTR);
  }
  switch (wait.kind) {
    case Wait::Kind::futex:
    case Wait::Kind::description_lock: return reply(thread, 0);
    default: return go_on(thread);
  }
}

void Engine::time_out(Thread& thread) {
  const auto& call = thread.notification.data;
  switch (thread.wait->kind) {
    case Wait::Kind::futex: return reply(thread, 0, ETIMEDOUT);
    case Wait::Kind::signal: return reply(thread, 0, EAGAIN);
    case Wait::Kind::descriptors: break;
    default: return reply(thread, 0);
  }
  switch (call.nr) {
    case SYS_poll:
    case SYS_ppoll: {
      std::vector<pollfd> fds = thread.wait->fds;
      for (pollfd& fd : fds) fd.revents = 0;
      (void)write_remote(thread.tid, call.args[0], fds.data(), fds.size() * sizeof(pollfd));
      return reply(thread, 0);
    }
    case SYS_select:
    case SYS_pselect6: {
      const std::string none((std::min<std::size_t>(call.args[0], FD_SETSIZE) + 63) / 64 * 8, '\0');
      for (const int set : {1, 2, 3})
        if (call.args[set] != 0) (void)write_remote(thread.tid, call.args[set], none.data(), none.size());
      const timeval no_time{};
      if (call.nr == SYS_select && call.args[4] != 0) (void)write_remote(thread.tid, call.args[4], &no_time, sizeof no_time);
      return reply(thread, 0);
    }
    case SYS_epoll_wait:
    case SYS_epoll_pwait:
    case SYS_epoll_pwait2: return reply(thread, 0);
    default: return reply(thread, 0, EAGAIN);  // SO_RCVTIMEO
  }
}

bool Engine::advance_time() {
  std::optional<Nanoseconds> nearest;
  const auto consider = [&](Nanoseconds when) {
    if (!nearest || when < *nearest) nearest = when;
  };
  for (const auto& actor : actors_) {
    if (actor->held_until) consider(*actor->held_until);
    if (actor->restart_at) consider(*actor->restart_at);
    if (actor->refused_until) consider(*actor->refused_until);
    for (const auto& process : actor->processes) {
      if (process->dead) continue;
      for (const VirtualTimer& timer : process->timers)
        if (timer.deadline.count() >= 0) consider(timer.deadline);
      if (actor->held_until) continue;  // a held actor's waits do not run out before it is released
      for (const auto& thread : process->threads)
        if (thread->state == Thread::State::held && thread->wait->deadline.count() >= 0) consider(thread->wait->deadline);
    }
  }
  for (const LateAnswer& answer : late_) consider(answer.due);
  const bool settled = !rows_.empty() && std::all_of(rows_.begin(), rows_.end(), [](const LedgerRow& row) {
    return row.state == JobState::delivered || row.state == JobState::flagged;
  });
  if (settled) consider(last_change_ + scenario_.quiet);
  if (!nearest) return false;
  clock_.advance_to(std::min(*nearest, scenario_.horizon));
  last_actor_ = nullptr;
  last_incarnation_ = last_process_ = 0;
  turn_process_ = nullptr;
  fire_timers();
  return true;
}

// Who waits for what, when nothing moves any more.
std::string Engine::wait_graph() const {
  std::string text;
  const std::vector<FileLock> locks = list_locks();
  for (const auto& actor : actors_) {
    for (const auto& process : actor->processes) {
      for (const auto& thread : process->threads) {
        if (process->dead) continue;
        if (!text.empty()) text += "; ";
        text += actor->name + (process->index > 0 ? "/" + std::to_string(process->index) : "");
        if (thread->state == Thread::State::in_kernel) {
          text += " sleeps in the kernel";
        } else if (thread->wait) {
          const SyscallRule* rule = find_rule(thread->notification.data.nr);
          text += " waits in " + std::string(rule->name) + (thread->wait->object.empty() ? "" : " for " + thread->wait->object);
          text += lock_holder(*thread, locks);
        } else {
          text += " is stopped";
        }
      }
    }
  }
  return text.empty() ? "no process is left" : text;
}

std::string Engine::lock_holder(const Thread& thread, const std::vector<FileLock>& locks) const {
  if (thread.wait->kind != Wait::Kind::posix_lock && thread.wait->kind != Wait::Kind::description_lock) return {};
  struct stat info {};
  const UniqueFd copy = duplicate(*thread.process, static_cast<int>(thread.notification.data.args[0]));
  if (!copy || ::fstat(copy.get(), &info) != 0) return {};
  for (const FileLock& lock : locks) {
    if (lock.inode != info.st_ino) continue;
    for (const auto& actor : actors_)
      for (const auto& process : actor->processes)
        if (process->pid == lock.process && process.get() != thread.process)
          return ", held by " + actor->name + (process->index > 0 ? "/" + std::to_string(process->index) : "");
  }
  return {};
}

}  // namespace halfsent
