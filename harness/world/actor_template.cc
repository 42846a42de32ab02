// Making templates of actors, and forking incarnations from them.
#include "harness/world/actor_template.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>

#include "harness/intercept/listener.h"
#include "harness/intercept/remote_memory.h"
#include "harness/world/engine.h"
#include "harness/world/proc_fs.h"

namespace halfsent {
namespace {

std::string read_whole(int fd) {
  const off_t size = ::lseek(fd, 0, SEEK_END);
  std::string text(static_cast<std::size_t>(std::max<off_t>(size, 0)), '\0');
  const ssize_t got = ::pread(fd, text.data(), text.size(), 0);
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  return text;
}

std::string folder_of(const std::string& name) {
  const std::size_t slash = name.rfind('/');
  return slash == std::string::npos ? "../cwd" : name.substr(0, slash);
}

}  // namespace

// nullopt: the program does something before its first call that matters which a fork cannot repeat.
Result<std::optional<ActorTemplate>> Engine::make_template(const std::string& name) {
  const auto actor =
      std::find_if(actors_.begin(), actors_.end(), [&](const auto& candidate) { return candidate->name == name; });
  if (actor == actors_.end()) return std::optional<ActorTemplate>{};
  if (Result<void> ready = prepare(); !ready) return ready.error();
  const Result<bool> resident = sandbox_.expect_resident();
  if (!resident) return resident.error();
  if (!*resident) return std::optional<ActorTemplate>{};
  template_watch_.emplace();
  start(**actor);
  settle();
  if (error_) return *error_;
  Process* const root = (*actor)->root;
  if (gave_up_ || root == nullptr || root->dead) return std::optional<ActorTemplate>{};
  const std::vector<Descriptor> descriptors = list_descriptors(root->pid);
  const bool plain = (*actor)->processes.size() == 1 && root->threads.size() == 1 && root->timers.empty() &&
                     history_.events.size() == 1 && outside_.empty() && template_watch_->reached &&
                     std::all_of(descriptors.begin(), descriptors.end(), [](const auto& d) { return d.number <= 2; });
  if (!plain) {
    kill_process(*root);
    wait_for_deaths();
    return std::optional<ActorTemplate>{};
  }
  const seccomp_notif& stop = root->threads.front()->notification;
  Result<ProcessTemplate> process = ProcessTemplate::take(root->pid, root->listener->get(), stop.id, stop.data.nr);
  if (!process) return process.error();
  return std::optional(ActorTemplate{.listener = root->listener,
                                     .process = std::move(*process),
                                     .output = read_whole((*actor)->output_fd),
                                     .clock_cost = clock_.now(),
                                     .random_calls = root->random_calls,
                                     .calls_in_turn = root->calls_in_turn,
                                     .looked_at = std::move(template_watch_->looked_at)});
}

// The path that the call is about, as the world's files are named; nullopt when it is not to be known.
std::optional<std::string> Engine::template_path(Thread& thread, const SyscallRule& rule) const {
  const auto& call = thread.notification.data;
  const bool plain = rule.number == SYS_open || rule.number == SYS_creat || rule.number == SYS_stat ||
                     rule.number == SYS_lstat || rule.number == SYS_access;
  const auto path = read_remote_string(thread.tid, call.args[plain ? 0 : 1], 65536);
  if (!path) return std::nullopt;
  if (path->empty()) return path;  // AT_EMPTY_PATH: a descriptor that it has opened before
  return world_path(thread, plain ? AT_FDCWD : static_cast<int>(call.args[0]), *path);
}

bool Engine::template_may_look_at(Thread& thread, const SyscallRule& rule) {
  const auto path = template_path(thread, rule);
  if (!path) return false;
  if (path->starts_with("/halfsent/") || path->starts_with("/proc/") || *path == "/dev/urandom" ||
      *path == "/dev/random")
    return false;
  if (rule.treatment == Treatment::open) {
    const auto& call = thread.notification.data;
    if (rule.number != SYS_open && rule.number != SYS_openat) return false;
    const std::uint64_t flags = call.args[rule.number == SYS_open ? 1 : 2];
    if ((flags & (O_CREAT | O_TRUNC | O_WRONLY | O_RDWR)) != 0) return false;
  }
  const std::string name = watched_name(*path);
  if (name.empty()) return true;
  if (probe_->owns_file(name)) return false;
  template_watch_->looked_at.insert(name);
  if (rule.treatment == Treatment::open &&
      (thread.notification.data.args[rule.number == SYS_open ? 1 : 2] & O_DIRECTORY) == 0)
    template_watch_->opened.insert(name);
  return true;
}

// Its program is one of the scenario's files: no interpreter.
bool Engine::is_of_world(const Process& process) const { return !watched_name(program_of(process.pid)).empty(); }

// It has not come to the worker's own code yet: it has opened no file of the world, or only its script, which it still
// reads. Its own start reads clocks, which it forgets, and the number of its thread, which nobody goes by.
bool Engine::interpreter_starts(const Process& process) const {
  if (is_of_world(process)) return false;
  if (template_watch_->opened.empty()) return true;
  const std::vector<Descriptor> descriptors = list_descriptors(process.pid);
  return template_watch_->opened.size() == 1 && std::any_of(descriptors.begin(), descriptors.end(), [&](const auto& d) {
           return !watched_name(d.target).empty();
         });
}

// From this call on incarnations may differ.
bool Engine::ends_template(Thread& thread, const SyscallRule& rule) {
  const auto& call = thread.notification.data;
  switch (rule.treatment) {
    case Treatment::open:
    case Treatment::look_up:
      return !template_may_look_at(thread, rule);
    case Treatment::image:
      return false;
    case Treatment::read:
      return !target_of(*thread.process, static_cast<int>(call.args[0])).starts_with('/');
    case Treatment::write:
      return call.args[0] != 1 && call.args[0] != 2;
    case Treatment::random:
      return (call.args[2] & GRND_NONBLOCK) == 0;
    case Treatment::identity:
      return rule.number != SYS_gettid || !interpreter_starts(*thread.process);
    case Treatment::clock: {
      // Python reads it whenever it takes a lock, a dozen times for each import.
      const bool monotonic = rule.number == SYS_clock_gettime && call.args[0] == CLOCK_MONOTONIC;
      return monotonic ? is_of_world(*thread.process) : !interpreter_starts(*thread.process);
    }
    case Treatment::futex:
      return (call.args[1] & FUTEX_CMD_MASK) != FUTEX_WAKE;
    default:
      return true;
  }
}

const ActorTemplate* Engine::template_of(const Actor& actor) const {
  if (setup_.templates == nullptr || templates_stale_) return nullptr;
  const auto found = setup_.templates->find(actor.name);
  return found == setup_.templates->end() ? nullptr : &found->second;
}

// As launch() gives it.
Result<Launched> Engine::fork_from_template(Actor& actor) {
  ActorTemplate& from = setup_.templates->at(actor.name);
  const Result<pid_t> pid = from.process.fork(Sandbox::kCwdPath);
  if (!pid) {
    template_failed_ = true;
    return pid.error();
  }
  Launched launched;
  launched.pid = *pid;
  launched.pidfd = UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, *pid, 0)));
  (void)!::write(actor.output_fd, from.output.data(), from.output.size());
  if (!launched.pidfd) return Error{.message = "cannot watch a forked process"};
  if (Result<void> adopted = sandbox_.adopt(launched.pidfd.get()); !adopted) return adopted.error();
  return launched;
}

void Engine::join_template(Process& root) {
  const ActorTemplate& from = setup_.templates->at(root.actor->name);
  root.listener = from.listener;
  root.is_forked = root.wants_output = true;
  root.random_calls = from.random_calls;
  root.calls_in_turn = from.calls_in_turn;
  ++result_.forked;
  // One listener for all incarnations: what it tells is the current one's, or that of a process we know already.
  Actor& actor = *root.actor;
  if (actor.watches_template) return;
  actor.watches_template = true;
  ready_->add(root.listener->get(), [this, &actor] { on_notification(*actor.root); });
}

// Its standard output and error are still the template's.
void Engine::give_output(Thread& thread) {
  thread.process->wants_output = false;
  for (const int fd : {1, 2})
    (void)install_descriptor(thread.process->listener->get(), thread.notification.id, thread.process->actor->output_fd,
                             fd);
}

// What a template has seen of the world is no longer so.
void Engine::note_change(const Effect& effect, Treatment treatment) {
  const std::string& name = effect.stop.object;
  const bool names = treatment == Treatment::path_effect || treatment == Treatment::open;
  const bool writes = treatment == Treatment::write || effect.stop.call == "ftruncate" ||
                      effect.stop.call == "fallocate";  // other syncs change nothing
  const bool of_file = (names || writes) && !effect.is_network && effect.stop.call != "at" && name != "pipe";
  if (!of_file || setup_.templates == nullptr || templates_stale_ || probe_->owns_file(name)) return;
  templates_stale_ = std::any_of(setup_.templates->begin(), setup_.templates->end(), [&](const auto& entry) {
    const std::set<std::string>& seen = entry.second.looked_at;
    return seen.contains(name) || (names && seen.contains(folder_of(name)));
  });
}

}  // namespace halfsent
