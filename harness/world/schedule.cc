// Who goes next, and what time it is.
#include <fcntl.h>
#include <limits.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "harness/intercept/remote_memory.h"
#include "harness/world/engine.h"
#include "harness/world/proc_fs.h"
#include "harness/world/remote_time.h"

namespace halfsent {
namespace {

std::string name_of(const Process& process) {
  return process.actor->name + (process.index > 0 ? "/" + std::to_string(process.index) : "");
}

// What a write or writev still has to write after its first `done` bytes, up to a pipe's usual size.
bool read_outgoing(pid_t tid, const seccomp_data& call, std::uint64_t done, std::string& out) {
  constexpr std::uint64_t most = 65536;
  std::vector<iovec> parts;
  if (call.nr == SYS_write) {
    parts.push_back({reinterpret_cast<void*>(call.args[1]), call.args[2]});
  } else if (call.nr == SYS_writev) {
    parts.resize(std::min<std::uint64_t>(call.args[2], IOV_MAX));
    if (!read_remote(tid, call.args[1], parts.data(), parts.size() * sizeof(iovec))) return false;
  }
  for (const iovec& part : parts) {
    const std::uint64_t skip = std::min<std::uint64_t>(done, part.iov_len);
    const std::uint64_t bytes = std::min<std::uint64_t>(part.iov_len - skip, most - out.size());
    done -= skip;
    const std::size_t before = out.size();
    out.resize(before + bytes);
    if (bytes > 0 &&
        !read_remote(tid, reinterpret_cast<std::uint64_t>(part.iov_base) + skip, out.data() + before, bytes))
      return false;
  }
  return !out.empty();
}

}  // namespace

// How much of a large body a send takes would otherwise depend on when the kernel's acknowledgements come: give it room
// for all.
void Engine::widen(int socket) const {
  const int bytes = static_cast<int>(std::min<std::size_t>(scenario_.downstream.max_body_bytes + (1u << 20), 1u << 29));
  (void)::setsockopt(socket, SOL_SOCKET, SO_SNDBUFFORCE, &bytes, sizeof bytes);
}

// Actors take turns in their fixed order, one release each. One that a fault has switched away from comes when no other
// can go on.
bool Engine::release_next() {
  release_holds();
  if (fire_timers()) return true;
  if (release_by_turn()) return true;
  bool any_switched = false;
  for (auto& actor : actors_) any_switched = std::exchange(actor->switched, false) || any_switched;
  return any_switched && release_by_turn();
}

bool Engine::release_by_turn() {
  for (std::size_t i = 0; i < actors_.size(); ++i) {
    const std::size_t index = (turn_ + i) % actors_.size();
    Actor& actor = *actors_[index];
    if (actor.held_until || actor.switched || !release_one_of(actor)) continue;
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

// Within an actor the process that ran last goes on; then the others in the order of their creation. One that yields is
// the last, and its successor the first.
bool Engine::release_one_of(Actor& actor) {
  std::vector<Process*> order;
  for (auto& process : actor.processes)
    if (!process->dead) order.push_back(process.get());
  const auto current = std::find(order.begin(), order.end(), actor.current);
  if (current != order.end()) {
    if ((*current)->yields) {
      std::rotate(order.begin(), current + 1, order.end());
    } else {
      std::rotate(order.begin(), current, current + 1);
    }
  }
  for (Process* process : order) {
    for (auto& thread : process->threads) {
      const int incarnation = process->incarnation;
      const int index = process->index;
      if (!release(*thread)) continue;
      actor.current = process;
      process->yields = false;
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
  thread.process->calls_in_turn = 0;
  switch (thread.state) {
    case Thread::State::pending:
      set_state(thread, Thread::State::running);
      handle(thread);
      return true;
    case Thread::State::parked:
      if (thread.wait && !thread.signal_waits && !is_ready(thread)) break;
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
    default:
      break;
  }
  turn_process_ = before;
  return false;
}

void Engine::release_effect(Thread& thread) {
  const Effect& effect = *thread.effect;
  Process& process = *thread.process;
  if (const int error = refusal(thread); error != 0) return reply(thread, 0, error);
  if (effect.to_downstream) {
    if (effect.is_connect && process.actor->refused) return reply(thread, 0, ECONNREFUSED);
    if (effect.is_connect) widen(duplicate(process, effect.fd).get());
    if (effect.local_port != 0) {
      Connection& connection = connections_[effect.local_port];
      connection = {&process,      process.actor, process.incarnation,
                    process.index, effect.fd,     connection.process == &process ? connection.first_send : no_seq};
      if (connection.first_send == no_seq) connection.first_send = effect.seq;
    }
  }
  // A commit shows after the release of whatever file call came last before it: be it of another file (a folder's
  // fsync), or only a lock (a recovery rewrites the index in memory between two locks).
  if (effect.is_network) network_dirty_ = true;
  if (effect.lock) {
    note_lock(process, *effect.lock);
    if (may_write_unseen(process)) doubt_ledger(LedgerProbe::Since::memory);
  } else if (!effect.is_network) {
    ++names_;
    const Treatment treatment = find_rule(thread.notification.data.nr)->treatment;
    const bool writes = treatment == Treatment::write || treatment == Treatment::file_sync;
    doubt_ledger(writes ? LedgerProbe::Since::written : LedgerProbe::Since::created_or_removed);
  }
  if (thread.wait && thread.signal_waits) signals_possible_ = true;
  if (thread.wait && thread.wait->kind == Wait::Kind::descriptors) return write_to_pipe(thread);
  if (thread.wait && thread.wait->kind == Wait::Kind::description_lock && !thread.signal_waits)
    return reply(thread, 0);  // is_ready took it
  go_on(thread);
}

// A writer that sleeps in the kernel would run on, beside its reader, as soon as there is room: how much each of them
// finds would be the kernel's choice. So what does not fit at once is written by us, piece by piece, while the writer
// waits.
void Engine::write_to_pipe(Thread& thread) {
  Effect& effect = *thread.effect;
  const std::uint64_t wanted = effect.stop.bytes;
  const UniqueFd pipe = duplicate(*thread.process, effect.fd);
  int used = 0;
  pollfd state{.fd = pipe.get(), .events = POLLOUT, .revents = 0};
  if (!pipe || ::ioctl(pipe.get(), FIONREAD, &used) != 0 || ::poll(&state, 1, 0) < 0) return go_on(thread);
  const bool broken = (state.revents & POLLERR) != 0;
  if (effect.done > 0 && (broken || thread.signal_waits)) return reply(thread, static_cast<std::int64_t>(effect.done));
  const bool fits =
      wanted <= PIPE_BUF || (used == 0 && wanted <= static_cast<std::uint64_t>(::fcntl(pipe.get(), F_GETPIPE_SZ)));
  if (effect.done == 0 && (fits || broken || thread.signal_waits || (::fcntl(pipe.get(), F_GETFL) & O_NONBLOCK) != 0))
    return go_on(thread);
  std::string chunk;
  if (!read_outgoing(thread.tid, thread.notification.data, effect.done, chunk)) return go_on(thread);
  const iovec part{chunk.data(), chunk.size()};
  const ssize_t written = ::pwritev2(pipe.get(), &part, 1, -1, RWF_NOWAIT);
  if (written < 0 && errno != EAGAIN)
    return effect.done > 0 ? reply(thread, static_cast<std::int64_t>(effect.done)) : go_on(thread);
  effect.done += static_cast<std::uint64_t>(std::max<ssize_t>(written, 0));
  if (effect.done >= wanted) reply(thread, static_cast<std::int64_t>(effect.done));
}

bool Engine::is_ready(Thread& thread) {
  Wait& wait = *thread.wait;
  switch (wait.kind) {
    case Wait::Kind::sleep:
    case Wait::Kind::signal:
      return false;
    case Wait::Kind::descriptors:
      return any_descriptor_ready(thread);
    case Wait::Kind::futex:
      return wait.woken || read_remote_value<std::uint32_t>(thread.tid, wait.address).value_or(~wait.word) != wait.word;
    case Wait::Kind::child:
      return child_has_ended(thread);
    case Wait::Kind::posix_lock:
      return posix_lock_is_free(thread);
    case Wait::Kind::description_lock:
      return take_lock_for(thread);
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
      if (::syscall(SYS_pidfd_send_signal, child->pidfd.get(), 0, nullptr, 0) == 0) return true;
      child->reaped = true;
      continue;
    }
    any_child = true;
  }
  return !any_child;  // nothing to wait for: the kernel says ECHILD
}

bool Engine::posix_lock_is_free(const Thread& thread) const {
  return posix_lock_owner(thread) == 0 && !(thread.effect && is_busy(*thread.effect));
}

pid_t Engine::posix_lock_owner(const Thread& thread) const {
  const auto& call = thread.notification.data;
  auto lock = read_remote_value<struct flock>(thread.tid, call.args[2]);
  const UniqueFd copy = duplicate(*thread.process, static_cast<int>(call.args[0]));
  if (!lock || !copy || ::fcntl(copy.get(), F_GETLK, &*lock) != 0) return 0;
  return lock->l_type == F_UNLCK || lock->l_pid == thread.process->pid ? 0 : lock->l_pid;
}

// The kernel refuses to wait for a lock whose owner waits, in the end, for us. It does not see our waits, so we do
// that.
bool Engine::closes_lock_cycle(const Thread& thread) const {
  constexpr int most_steps = 10;  // as the kernel: a longer chain is no cycle
  const Thread* waiter = &thread;
  for (int step = 0; step < most_steps && waiter != nullptr; ++step) {
    const pid_t owner = posix_lock_owner(*waiter);
    if (owner == thread.process->pid) return true;
    waiter = nullptr;
    for (const auto& [tid, other] : threads_) {
      const bool waits =
          other->state == Thread::State::held && other->wait && other->wait->kind == Wait::Kind::posix_lock;
      if (waits && other->process->pid == owner) waiter = other;
    }
  }
  return false;
}

// flock and OFD locks belong to the open file, which our copy shares: what we take is the worker's.
bool Engine::take_lock_for(const Thread& thread) const {
  const auto& call = thread.notification.data;
  const UniqueFd copy = duplicate(*thread.process, static_cast<int>(call.args[0]));
  if (!copy) return true;
  if (call.nr == SYS_flock)
    return ::flock(copy.get(), static_cast<int>(call.args[1]) | LOCK_NB) == 0 || errno != EWOULDBLOCK;
  auto lock = read_remote_value<struct flock>(thread.tid, call.args[2]);
  return !lock || ::fcntl(copy.get(), F_OFD_SETLK, &*lock) == 0 || (errno != EAGAIN && errno != EACCES);
}

void Engine::end_wait(Thread& thread) {
  const auto& call = thread.notification.data;
  const Wait& wait = *thread.wait;
  if (thread.signal_waits) {
    signals_possible_ = true;  // handlers run now and may let others through
    if (wait.kind != Wait::Kind::sleep && wait.kind != Wait::Kind::futex)
      return go_on(thread);  // the kernel sees the signal itself
    if (wait.kind == Wait::Kind::sleep) {
      const bool plain = call.nr == SYS_nanosleep;
      const std::uint64_t address = call.args[plain ? 1 : 3];
      const timespec left = to_timespec(std::max(wait.deadline - clock_.now(), Nanoseconds{0}));
      if (address != 0 && (plain || (call.args[1] & TIMER_ABSTIME) == 0))
        (void)write_remote(thread.tid, address, &left, sizeof left);
    }
    return reply(thread, 0, EINTR);
  }
  switch (wait.kind) {
    case Wait::Kind::futex:
    case Wait::Kind::description_lock:
      return reply(thread, 0);
    default:
      return go_on(thread);
  }
}

void Engine::time_out(Thread& thread) {
  const auto& call = thread.notification.data;
  switch (thread.wait->kind) {
    case Wait::Kind::futex:
      return reply(thread, 0, ETIMEDOUT);
    case Wait::Kind::signal:
      return reply(thread, 0, EAGAIN);
    case Wait::Kind::descriptors:
      break;
    default:
      return reply(thread, 0);
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
      if (call.nr == SYS_select && call.args[4] != 0)
        (void)write_remote(thread.tid, call.args[4], &no_time, sizeof no_time);
      return reply(thread, 0);
    }
    case SYS_epoll_wait:
    case SYS_epoll_pwait:
    case SYS_epoll_pwait2:
      return reply(thread, 0);
    default:
      return reply(thread, 0, EAGAIN);  // SO_RCVTIMEO
  }
}

std::optional<Nanoseconds> Engine::nearest_deadline() const {
  std::optional<Nanoseconds> nearest;
  const auto consider = [&](Nanoseconds when) {
    if (!nearest || when < *nearest) nearest = when;
  };
  for (const auto& actor : actors_) {
    if (actor->held_until) consider(*actor->held_until);
    if (actor->restart_at) consider(*actor->restart_at);
    if (actor->refused_until) consider(*actor->refused_until);
    for (const auto& process : actor->processes) {
      if (process->dead || actor->held_until)
        continue;  // what a held actor waits for is not over before it is released
      for (const VirtualTimer& timer : process->timers)
        if (timer.deadline.count() >= 0) consider(timer.deadline);
      for (const auto& thread : process->threads)
        if (thread->state == Thread::State::held && thread->wait->deadline.count() >= 0)
          consider(thread->wait->deadline);
    }
  }
  for (const LateAnswer& answer : late_) consider(answer.due);
  if (busy_until_ && *busy_until_ > clock_.now()) consider(*busy_until_);
  // Where the quiet time is over and a late answer is still outstanding, that is waited for.
  if (all_settled() && quiet_until() > clock_.now()) consider(quiet_until());
  return nearest;
}

bool Engine::advance_time() {
  const std::optional<Nanoseconds> nearest = nearest_deadline();
  if (!nearest) return false;
  clock_.advance_to(std::min(*nearest, scenario_.horizon));
  last_actor_ = nullptr;
  last_incarnation_ = last_process_ = 0;
  turn_process_ = nullptr;
  constexpr int now_and_then = 16;  // a look that nothing asks for
  if (++advances_ % now_and_then == 0) doubt_ledger(LedgerProbe::Since::created_or_removed);
  (void)fire_timers();
  return true;
}

// Who waits for what, when nothing moves any more.
std::string Engine::wait_graph() const {
  std::string text;
  for (const auto& actor : actors_) {
    for (const auto& process : actor->processes) {
      for (const auto& thread : process->threads) {
        if (process->dead) continue;
        if (!text.empty()) text += "; ";
        text += name_of(*process);
        if (thread->state == Thread::State::in_kernel) {
          text += " sleeps in the kernel";
        } else if (thread->wait) {
          const SyscallRule* rule = find_rule(thread->notification.data.nr);
          text += " waits in " + std::string(rule->name) +
                  (thread->wait->object.empty() ? "" : " for " + thread->wait->object);
          text += lock_holders(*thread) + pipe_holders(*thread);
        } else {
          text += " is stopped";
        }
      }
    }
  }
  return text.empty() ? "no process is left" : text;
}

// Read from the descriptors of all processes: a lock of an open file that we have taken for a worker is ours in
// /proc/locks.
std::string Engine::lock_holders(const Thread& thread) const {
  if (thread.wait->kind != Wait::Kind::posix_lock && thread.wait->kind != Wait::Kind::description_lock) return {};
  struct stat info {};
  const UniqueFd copy = duplicate(*thread.process, static_cast<int>(thread.notification.data.args[0]));
  if (!copy || ::fstat(copy.get(), &info) != 0) return {};
  std::string text;
  for (const auto& actor : actors_) {
    for (const auto& process : actor->processes) {
      if (process->dead || process.get() == thread.process) continue;
      const std::vector<Descriptor> descriptors = list_descriptors(process->pid);
      const bool holds = std::any_of(descriptors.begin(), descriptors.end(), [&](const Descriptor& descriptor) {
        return std::any_of(descriptor.locks.begin(), descriptor.locks.end(),
                           [&](const FileLock& lock) { return lock.inode == info.st_ino; });
      });
      if (holds) text += (text.empty() ? ", held by " : " and ") + name_of(*process);
    }
  }
  return text;
}

std::string Engine::pipe_holders(const Thread& thread) const {
  if (thread.wait->object != "pipe") return {};
  const bool writes = thread.effect.has_value();
  const std::string pipe = descriptor_target(thread.process->pid, static_cast<int>(thread.notification.data.args[0]));
  std::string text;
  for (const auto& actor : actors_) {
    for (const auto& process : actor->processes) {
      if (process->dead) continue;
      const std::vector<Descriptor> descriptors = list_descriptors(process->pid);
      const bool holds = std::any_of(descriptors.begin(), descriptors.end(), [&](const Descriptor& descriptor) {
        return descriptor.target == pipe && (writes ? descriptor.reads : descriptor.writes);
      });
      if (holds) text += (text.empty() ? ", whose other end is held by " : " and ") + name_of(*process);
    }
  }
  return text;
}

}  // namespace halfsent
