// Processes come and go: starting incarnations, finding what they fork, noticing deaths.
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "harness/core/text.h"
#include "harness/intercept/listener.h"
#include "harness/process/launch.h"
#include "harness/world/engine.h"
#include "harness/world/proc_fs.h"

namespace halfsent {
namespace {

// More than any worker needs; a worker that forks without end would otherwise take the machine with it.
constexpr std::size_t max_processes = 256;
constexpr off_t max_output_bytes = 1 << 20;

std::vector<std::string> environment(const Actor& actor) {
  // Complete and explicit: nothing of the engineer's shell gets in.
  std::map<std::string, std::string> variables = {
      {"PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
      {"HOME", Sandbox::kHomePath},
      {"TMPDIR", Sandbox::kTmpPath},
      {"LANG", "C.UTF-8"},
      {"TZ", "UTC"},
      {"USER", "worker"},
      {"HALFSENT_ACTOR", actor.name},
  };
  for (const auto& [name, value] : actor.config->env) variables[name] = replace_all(value, "{actor}", actor.name);
  std::vector<std::string> lines;
  for (const auto& [name, value] : variables) lines.push_back(name + "=" + value);
  return lines;
}

// Empty when it did not exit by itself and nobody keeps its status: an orphan, or a child that is not waited for.
std::optional<Death> death_of_child(const Process& process) {
  if (process.exit_code) return Death{.kind = Death::Kind::exited, .value = *process.exit_code};
  if (process.parent == nullptr || process.parent->dead) return std::nullopt;
  const std::optional<ProcStatus> parent = read_status(process.parent->pid);
  if (!parent || (parent->ignored >> (SIGCHLD - 1) & 1) != 0) return std::nullopt;
  const std::optional<int> status = read_wait_status(process.pid);
  return status ? Death::from_wait_status(*status) : std::nullopt;
}

}  // namespace

void Engine::start(Actor& actor) {
  actor.restart_at.reset();
  actor.started_at = clock_.now();
  actor.restart_when_alone = false;
  actor.held_until.reset();
  collect_output(actor);  // of the one before
  ++actor.incarnation;
  actor.next_index = 0;
  actor.output_fd = ::memfd_create("output", MFD_CLOEXEC);

  const bool forks = template_of(actor) != nullptr;
  Result<Launched> launched = forks ? fork_from_template(actor) : launch_actor(actor);
  if (!launched) {
    Error error = launched.error();
    error.message = "cannot start " + actor.name + ": " + error.message;
    if (error.file.empty() && error.code == ExitCode::usage) error.file = scenario_.file.string();
    fail(std::move(error));
    return;
  }
  const std::optional<ProcStatus> status = read_status(launched->pid);
  Process& root = add_process(actor, launched->pid, status ? status->world_process : 0, nullptr, actor.incarnation);
  root.is_root = true;
  root.pidfd = std::move(launched->pidfd);
  actor.root = &root;
  actor.current = &root;
  watch(root);
  if (forks) {
    join_template(root);
  } else {
    root.listener = std::make_shared<const UniqueFd>(std::move(launched->listener));
    if (setup_.cpu >= 0) wake_on_this_cpu(root.listener->get());
    ready_->add(root.listener->get(), [this, &root] { on_notification(root); });
  }
  add_thread(root, root.pid);
  turn_process_ = &root;
  last_actor_ = &actor;
  last_incarnation_ = actor.incarnation;
  last_process_ = 0;
  record(root, Started{});
  if (forks) clock_.advance(setup_.templates->at(actor.name).clock_cost);
}

Result<Launched> Engine::launch_actor(const Actor& actor) {
  LaunchSpec spec;
  for (const std::string& word : actor.config->command) spec.argv.push_back(replace_all(word, "{actor}", actor.name));
  spec.envp = environment(actor);
  spec.stdout_fd = actor.output_fd;
  spec.stderr_fd = actor.output_fd;
  spec.filter = setup_.filter;
  spec.cpu = setup_.cpu;
  return launch(sandbox_, spec);
}

void Engine::start_due_actors() {
  for (auto& actor : actors_) {
    if (error_ || gave_up_) return;
    if (is_alive(*actor)) continue;
    if (actor->restart_when_alone) {
      const bool peer = std::any_of(actors_.begin(), actors_.end(), [&](const auto& other) {
        return other != actor && is_alive(*other) && other->config == actor->config;
      });
      if (!peer) actor->restart_at = clock_.now();
    }
    if (!actor->restart_at || *actor->restart_at > clock_.now()) continue;
    start(*actor);
    settle();
    observe();
  }
}

Process& Engine::add_process(Actor& actor, pid_t pid, pid_t world_pid, Process* parent, int incarnation) {
  auto process = std::make_unique<Process>();
  process->pid = pid;
  process->world_pid = world_pid;
  process->parent = parent;
  process->actor = &actor;
  process->incarnation = incarnation;
  process->index = actor.next_index++;
  if (parent != nullptr) {
    process->listener = parent->listener;
    process->is_forked = parent->is_forked;
  }
  actor.processes.push_back(std::move(process));
  std::size_t living = 0;
  for (const auto& other : actors_)
    living += static_cast<std::size_t>(
        std::count_if(other->processes.begin(), other->processes.end(), [](const auto& p) { return !p->dead; }));
  if (living > max_processes)
    give_up("too many processes", actor.name + " has started more than " + std::to_string(max_processes));
  return *actor.processes.back();
}

Thread& Engine::add_thread(Process& process, pid_t tid) {
  auto thread = std::make_unique<Thread>();
  thread->tid = tid;
  thread->process = &process;
  process.threads.push_back(std::move(thread));
  threads_[tid] = process.threads.back().get();
  ++running_;
  return *process.threads.back();
}

// Threads and children of `process` that we have not seen. In creation order, because they are looked for at their
// creator's next stop, before it can create another.
void Engine::find_new_tasks(Process& process) {
  for (const pid_t tid : list_threads(process.pid))
    if (!threads_.contains(tid)) add_thread(process, tid);
  for (const pid_t pid : list_children(process.pid)) {
    const std::optional<ProcStatus> status = read_status(pid);
    const bool known = std::any_of(process.actor->processes.begin(), process.actor->processes.end(),
                                   [&](const auto& p) { return p->pid == pid && !p->reaped; });
    if (!status || known) continue;
    Process& child = add_process(*process.actor, pid, status->world_process, &process, process.incarnation);
    child.pidfd = UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
    if (!child.pidfd) {
      child.dead = child.reaped = true;
      continue;
    }
    for (const pid_t tid : list_threads(pid)) add_thread(child, tid);
    watch(child);
    for (auto& thread : process.threads)
      if (thread->vforks && thread->state == Thread::State::running) set_state(*thread, Thread::State::in_vfork);
  }
}

Thread* Engine::find_thread(pid_t tid) {
  const auto found = threads_.find(tid);
  return found == threads_.end() ? nullptr : found->second;
}

// A notification came from a task that nobody has seen: a child that was quicker than its parent, or an orphan's child.
Thread* Engine::adopt_unknown(const Process& listener_root, pid_t tid) {
  Actor& actor = *listener_root.actor;
  for (std::size_t i = 0; i < actor.processes.size(); ++i)  // grows while we look
    if (!actor.processes[i]->dead) find_new_tasks(*actor.processes[i]);
  if (Thread* found = find_thread(tid)) return found;
  const std::optional<ProcStatus> status = read_status(tid);
  if (!status) return nullptr;
  UniqueFd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, status->process, 0)));
  if (!pidfd) return nullptr;  // gone already
  Process& process = add_process(actor, status->process, status->world_process, nullptr, listener_root.incarnation);
  process.listener = listener_root.listener;
  process.is_forked = listener_root.is_forked;
  process.pidfd = std::move(pidfd);
  for (const pid_t other : list_threads(status->process)) add_thread(process, other);
  watch(process);
  return find_thread(tid);
}

void Engine::watch(Process& process) {
  ready_->add(process.pidfd.get(), [this, &process] { on_death(process); });
}

void Engine::on_death(Process& process) {
  if (process.dead) return;
  process.dead = true;
  // Both stay readable for ever now: the pidfd, and the listener when the last process of its filter is gone.
  ready_->remove(process.pidfd.get());
  const Actor& actor = *process.actor;
  const bool last =
      !process.is_forked && std::none_of(actor.processes.begin(), actor.processes.end(),
                                         [&](const auto& p) { return p->listener == process.listener && !p->dead; });
  if (last) ready_->remove(process.listener->get());
  if (process.is_root) {
    if (const Result<Death> death = reap(process.pid)) process.death = *death;
    process.reaped = true;
  } else {
    process.death = death_of_child(process);
  }
  while (!process.threads.empty()) forget_thread(*process.threads.back());
  process.timers.clear();
  process.descriptor_folder.reset();
  if (turn_process_ == &process) turn_process_ = nullptr;
  signals_possible_ = true;  // SIGCHLD
  network_dirty_ = true;
  doubt_ledger(LedgerProbe::Since::created_or_removed);
  deaths_.push_back(&process);
}

void Engine::kill_process(Process& process) {
  if (process.dead) return;
  process.killed_by_plan = true;
  process.kill_sent = true;
  // The pidfd, never the number: a number may be somebody else's by now.
  (void)::syscall(SYS_pidfd_send_signal, process.pidfd.get(), SIGKILL, nullptr, 0);
}

// Death by SIGKILL is certain and quick; its consequences (locks released, sockets closed) are complete when the pidfd
// says so.
void Engine::wait_for_deaths() {
  const auto dying = [&] {
    for (const auto& actor : actors_)
      for (const auto& process : actor->processes)
        if (process->kill_sent && !process->dead) return true;
    return false;
  };
  while (dying()) ready_->handle_one(std::chrono::milliseconds{-1});
}

void Engine::collect_output(Actor& actor) {
  if (actor.output_fd < 0) return;
  WorkerOutput output{.actor = actor.name, .incarnation = actor.incarnation, .text = {}};
  const off_t size = ::lseek(actor.output_fd, 0, SEEK_END);
  output.truncated = size > max_output_bytes;
  output.text.resize(static_cast<std::size_t>(std::min(size, max_output_bytes)));
  const ssize_t got = ::pread(actor.output_fd, output.text.data(), output.text.size(), 0);
  output.text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  ::close(actor.output_fd);
  actor.output_fd = -1;
  result_.output.push_back(std::move(output));
}

}  // namespace halfsent
