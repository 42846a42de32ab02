// Until nobody runs: every thread of the world is parked, held, or asleep in the kernel.
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "harness/intercept/listener.h"
#include "harness/world/engine.h"
#include "harness/world/proc_fs.h"

namespace halfsent {
namespace {

// Real time, used only to notice what the kernel does not tell; what is decided does not depend on how often we look.
constexpr std::chrono::milliseconds look_interval{1};

constexpr std::uint64_t bit_of(int signal) { return 1ull << (signal - 1); }

}  // namespace

void Engine::set_state(Thread& thread, Thread::State state) {
  const bool was = thread.state == Thread::State::running;
  const bool is = state == Thread::State::running;
  running_ += static_cast<int>(is) - static_cast<int>(was);
  thread.state = state;
}

void Engine::settle() {
  bool first_look = true;
  while (!error_ && !gave_up_) {
    if (running_ == 0) {
      if (anybody_runs()) continue;
      if (std::exchange(signals_possible_, false)) {
        wait_for_doomed();
        check_signals();
        continue;
      }
      if (!handle_deferred()) break;
      continue;
    }
    if (ready_->handle_one(look_interval)) {
      first_look = true;
      continue;
    }
    look_at_sleepers(first_look);
    first_look = false;
  }
}

// A process of another actor, or of the same one, is on its way to its next stop.
bool Engine::others_run(const Process& process) const {
  return running_ > std::count_if(process.threads.begin(), process.threads.end(),
                                  [](const auto& thread) { return thread->state == Thread::State::running; });
}

// The process whose turn it is had to wait for others to come to rest, so that what it does next meets the same world
// always.
bool Engine::handle_deferred() {
  if (turn_process_ == nullptr || turn_process_->dead) return false;
  for (auto& thread : turn_process_->threads) {
    if (thread->state != Thread::State::pending) continue;
    set_state(*thread, Thread::State::running);
    handle_in_turn(*thread);
    return true;
  }
  return false;
}

// A process that a signal ends is dead only when its pidfd says so. (A thread may end alone: when another one of its
// process executes a program.)
void Engine::wait_for_doomed() {
  for (bool again = true; again;) {
    again = false;
    ready_->handle_all();
    for (auto& [tid, thread] : threads_) {
      if (thread->state == Thread::State::running || !is_doomed(*thread)) continue;
      Process& process = *thread->process;
      while (!process.dead && read_stat(process.pid, tid)) ready_->handle_one(look_interval);
      if (!process.dead && tid != process.pid) forget_thread(*thread);
      again = true;
      break;  // the table has changed
    }
  }
}

// SIGKILL is what the kernel makes of every signal that ends a process at once. A thread that has begun to die has
// taken it, and then waits for us no more.
bool Engine::is_doomed(const Thread& thread) const {
  const bool stopped = thread.state == Thread::State::pending || thread.state == Thread::State::parked ||
                       thread.state == Thread::State::held;
  if (stopped && !still_waiting(thread.process->listener->get(), thread.notification.id)) return true;
  const std::optional<ProcStatus> status = read_status(thread.tid);
  return !status || (status->pending_thread & bit_of(SIGKILL)) != 0;
}

void Engine::forget_thread(Thread& thread) {
  Process& process = *thread.process;
  set_state(thread, Thread::State::parked);  // counts as not running
  threads_.erase(thread.tid);
  std::erase_if(process.threads, [&](const auto& other) { return other.get() == &thread; });
}

// Threads that slept in the kernel may have been woken by what the others did since; a waker makes its sleeper runnable
// before it goes on itself, so that one look is enough. Deaths that the kernel has completed are taken in too.
bool Engine::anybody_runs() {
  const bool any_asleep = std::any_of(threads_.begin(), threads_.end(), [](const auto& entry) {
    return entry.second->state == Thread::State::in_kernel || entry.second->state == Thread::State::in_vfork;
  });
  if (!any_asleep && !signals_possible_) return running_ > 0;  // nobody can have gone on, or died
  ready_->handle_all();
  for (auto& [tid, thread] : threads_) {
    if (thread->state != Thread::State::in_kernel && thread->state != Thread::State::in_vfork) continue;
    const std::optional<ProcStat> stat = read_stat(thread->process->pid, tid);
    if (!stat) continue;
    // The wait for a child that shares our memory is the one that no signal ends, and shows as such.
    const bool asleep = thread->state == Thread::State::in_vfork
                            ? stat->state == 'D'
                            : std::string_view("STtZ").find(stat->state) != std::string_view::npos;
    if (!asleep) set_state(*thread, Thread::State::running);
  }
  return running_ > 0;
}

// Nothing came from the running threads for a while: are they asleep in a call that we let continue, gone, or spinning?
void Engine::look_at_sleepers(bool first_look) {
  std::vector<Thread*> running;
  for (auto& [tid, thread] : threads_)
    if (thread->state == Thread::State::running) running.push_back(thread);
  for (Thread* thread : running)
    if (look_at(*thread, first_look)) return;
}

bool Engine::look_at(Thread& thread, bool first_look) {
  Process& process = *thread.process;
  const std::optional<ProcStat> stat = read_stat(process.pid, thread.tid);
  if (!stat) {
    if (thread.tid == process.pid) return false;  // its pidfd will tell
    forget_thread(thread);
    return true;
  }
  // Its last thread's end is told by the pidfd; the first thread of others stays as a zombie until then.
  const bool left = stat->state == 'Z' && process.threads.size() > 1;
  const bool asleep = stat->state == 'S' || stat->state == 'T' || stat->state == 't' || left;
  if ((asleep || (stat->state == 'D' && thread.vforks)) && !first_look) {
    // Seen asleep twice. A stop that is on its way to us is asleep too: let it come first.
    if (ready_->handle_all()) return true;
    if (stat->state == 'S' && is_on_its_way(process.pid, thread.tid)) return false;
    set_state(thread, asleep ? Thread::State::in_kernel : Thread::State::in_vfork);
    if (std::exchange(thread.has_forked, false)) find_new_tasks(process);
    return true;
  }
  if (thread.cpu_ticks_mark == 0) thread.cpu_ticks_mark = stat->cpu_ticks + 1;
  static const long ticks_per_second = ::sysconf(_SC_CLK_TCK);
  const auto limit = static_cast<std::uint64_t>(setup_.cpu_limit.count() * ticks_per_second / 1000);
  if (stat->cpu_ticks + 1 <= thread.cpu_ticks_mark + limit) return false;
  give_up("spins", process.actor->name + " has used " + std::to_string(setup_.cpu_limit.count()) +
                       " ms of CPU time without a system call that matters");
  return true;
}

// A signal may have reached a thread that has stopped: it must not wait on.
void Engine::check_signals() {
  for (auto& actor : actors_)
    for (auto& process : actor->processes)
      if (!process->dead) check_signals(*process);
}

// A signal for the process goes to the first thread that does not block it, as the kernel chooses.
void Engine::check_signals(Process& process) {
  // SIGCHLD, SIGCONT, SIGURG and SIGWINCH do nothing unless caught.
  constexpr std::uint64_t harmless = bit_of(SIGCHLD) | bit_of(SIGCONT) | bit_of(SIGURG) | bit_of(SIGWINCH);
  std::uint64_t taken = 0;
  for (auto& thread : process.threads) {
    if (thread->state == Thread::State::running) continue;
    const std::optional<ProcStatus> status = read_status(thread->tid);
    if (!status) continue;
    const std::uint64_t wanted = thread->wait ? thread->wait->wanted_signals : 0;
    const std::uint64_t blocked =
        thread->wait && thread->wait->signal_mask ? *thread->wait->signal_mask : status->blocked;
    const std::uint64_t open = wanted | (~blocked & ~status->ignored & (status->caught | ~harmless));
    const std::uint64_t for_all = status->pending_process & open & ~taken;
    thread->signal_waits = ((status->pending_thread & open) | for_all) != 0;
    taken |= for_all;
  }
}

// Only ever when all are quiet: how much room a sender finds must not depend on when we look. (One that has filled the
// buffers and sleeps in the kernel counts as quiet.)
void Engine::drain_downstream() {
  for (;;) {
    Downstream::Pumped pumped = downstream_->pump();
    for (Arrival& arrival : pumped.arrivals) arrivals_.push_back(std::move(arrival));
    for (BadInput& bad : pumped.bad) bad_input_.push_back(std::move(bad));
    if (!pumped.progress) return;
    network_dirty_ = true;
  }
}

}  // namespace halfsent
