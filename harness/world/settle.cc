// Until nobody runs: every thread of the world is parked, held, or asleep in the kernel.
#include <algorithm>

#include "harness/world/engine.h"
#include "harness/world/proc_fs.h"

namespace halfsent {
namespace {

// Real time, used only to notice what the kernel does not tell; what is decided does not depend on how often we look.
constexpr std::chrono::milliseconds look_interval{1};
// CPU time of a thread between two stops after which it spins.
constexpr std::uint64_t spin_ticks = 1000;  // 10 s at 100 ticks a second

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
      if (!anybody_runs()) break;
      continue;
    }
    if (io_.run_one_for(look_interval) != 0) {
      first_look = true;
      continue;
    }
    drain_downstream();
    look_at_sleepers(first_look);
    first_look = false;
  }
  if (signals_possible_ && !error_ && !gave_up_) {
    wait_for_doomed();
    check_signals();
  }
}

// A process that a signal ends is dead only when its pidfd says so.
void Engine::wait_for_doomed() {
  constexpr std::uint64_t kill_bit = 1ull << (9 - 1);
  for (bool again = true; again;) {
    again = false;
    io_.poll();
    for (auto& [tid, thread] : threads_) {
      const std::optional<ProcStatus> status = read_status(tid);
      if (status && (status->pending_thread & kill_bit) == 0) continue;
      Process& process = *thread->process;
      while (!process.dead) io_.run_one();
      again = true;
      break;  // the table has changed
    }
  }
}

// Threads that slept in the kernel may have been woken by what the others did since; a waker makes its sleeper runnable before it
// goes on itself, so that one look is enough. Deaths that the kernel has completed are taken in too.
bool Engine::anybody_runs() {
  io_.poll();
  bool woken = false;
  for (auto& [tid, thread] : threads_) {
    if (thread->state != Thread::State::in_kernel) continue;
    const std::optional<ProcStat> stat = read_stat(thread->process->pid, tid);
    if (stat && stat->state == 'R') {
      set_state(*thread, Thread::State::running);
      woken = true;
    }
  }
  return woken || running_ > 0;
}

// Nothing came from the running threads for a while: are they asleep in a call that we let continue, gone, or spinning?
void Engine::look_at_sleepers(bool first_look) {
  std::vector<Thread*> gone;
  for (auto& [tid, thread] : threads_) {
    if (thread->state != Thread::State::running) continue;
    Process& process = *thread->process;
    const std::optional<ProcStat> stat = read_stat(process.pid, tid);
    if (!stat) {
      if (tid != process.pid) gone.push_back(thread);
      continue;
    }
    if (stat->state == 'S' && !first_look) {
      // Seen asleep twice. A stop that is on its way to us is asleep too: let it come first.
      if (io_.poll() != 0) return;
      set_state(*thread, Thread::State::in_kernel);
      if (thread->has_forked) find_new_tasks(process);
      return;  // the table may have changed
    }
    if (process.cpu_ticks_mark == 0) process.cpu_ticks_mark = stat->cpu_ticks + 1;
    if (stat->cpu_ticks + 1 > process.cpu_ticks_mark + spin_ticks) {
      give_up("spins", process.actor->name + " has used 10 s of CPU without a system call that matters");
      return;
    }
  }
  for (Thread* thread : gone) {
    Process& process = *thread->process;
    set_state(*thread, Thread::State::parked);
    threads_.erase(thread->tid);
    std::erase_if(process.threads, [&](const auto& t) { return t.get() == thread; });
  }
}

// A signal may have reached a thread that we hold: it must not sleep on.
void Engine::check_signals() {
  signals_possible_ = false;
  for (auto& [tid, thread] : threads_)
    if (thread->state == Thread::State::held) thread->signal_waits = has_pending_signal(*thread);
}

bool Engine::has_pending_signal(Thread& thread) {
  const std::optional<ProcStatus> status = read_status(thread.tid);
  if (!status) return false;
  const std::uint64_t pending = status->pending_thread | status->pending_process;
  const std::uint64_t blocked = thread.wait && thread.wait->signal_mask ? *thread.wait->signal_mask : status->blocked;
  const std::uint64_t wanted = thread.wait ? thread.wait->wanted_signals : 0;
  if ((pending & wanted) != 0) return true;
  // SIGCHLD, SIGCONT, SIGURG and SIGWINCH do nothing unless caught.
  constexpr std::uint64_t harmless = (1ull << 16) | (1ull << 17) | (1ull << 22) | (1ull << 27);
  return (pending & ~blocked & ~status->ignored & (status->caught | ~harmless)) != 0;
}

// A worker that sends more than a socket buffer holds needs us to read while it runs. What has arrived is served when all are quiet.
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
