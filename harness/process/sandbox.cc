#include "harness/process/sandbox.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "harness/process/init.h"
#include "harness/process/namespaces.h"

namespace halfsent {
namespace {

constexpr int kWorldFlags = CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS;
// Only a watchdog: init answers in about a millisecond, and a world that does not end is a fault of the environment.
constexpr int kAnswerLimitMs = 30'000;

Error system_error(const std::string& what, std::string mend = {}) {
  return Error{.message = fmt::format("{}: {}", what, std::strerror(errno)), .mend = std::move(mend)};
}

int pidfd_open(pid_t pid) { return static_cast<int>(syscall(SYS_pidfd_open, pid, 0)); }

// waitid that outlives signals; false with errno set.
bool wait_pidfd(int pidfd, int options) {
  siginfo_t info{};
  int done = 0;
  do {
    done = waitid(P_PIDFD, static_cast<id_t>(pidfd), &info, options);
  } while (done != 0 && errno == EINTR);
  return done == 0;
}

// Says which of the namespaces is refused: the combined clone does not tell.
Error namespace_error(int error) {
  std::string refused;
  for (const NamespaceKind& kind : namespace_kinds()) {
    const NamespaceTrial trial = try_namespaces(kind.flag);
    if (trial.granted()) continue;
    const int why = trial.user_errno != 0 ? trial.user_errno : trial.errno_value;
    refused += fmt::format("{}{} namespace: {}", refused.empty() ? "" : "; ", kind.name, std::strerror(why));
  }
  const std::string detail = refused.empty() ? std::string{} : fmt::format(" (refused: {})", refused);
  return Error{.message = fmt::format("cannot make the namespaces of a world: {}{}", std::strerror(error), detail),
               .mend = namespace_mend()};
}

Error init_error(const InitReply& reply) {
  std::string mend;
  if (reply.stage == InitStage::proc_mount) {
    mend = proc_mount_mend();
  } else if (reply.stage == InitStage::shm_mount) {
    mend = "the folder /dev/shm must exist, and a container must allow mounts: " + namespace_mend();
  } else if (reply.stage == InitStage::private_mounts) {
    mend = namespace_mend();
  }
  return Error{.message = fmt::format("the world's init failed at {}: {}", init_stage_name(reply.stage),
                                      std::strerror(reply.errno_value)),
               .mend = std::move(mend)};
}

// Waits for one reply, or for init's end.
Result<InitReply> receive_reply(int control) {
  pollfd wait{.fd = control, .events = POLLIN, .revents = 0};
  int ready = 0;
  do {
    ready = poll(&wait, 1, kAnswerLimitMs);
  } while (ready < 0 && errno == EINTR);
  if (ready == 0) return Error{.message = "the world's init does not answer: a process in the world does not end"};
  InitReply reply;
  const ssize_t got = recv(control, &reply, sizeof reply, 0);
  if (got != static_cast<ssize_t>(sizeof reply)) return Error{.message = "the world's init has ended unexpectedly"};
  return reply;
}

}  // namespace

Result<std::unique_ptr<Sandbox>> Sandbox::create(const SandboxOptions& options) {
  std::unique_ptr<Sandbox> sandbox(new Sandbox);
  if (auto started = sandbox->start(options); !started) return started.error();
  return sandbox;
}

Result<void> Sandbox::start(const SandboxOptions& options) {
  // Remembered, since the capability we have afterwards looks like root's.
  static bool entered_user_namespace = false;
  const auto entered = ensure_namespace_rights();
  if (!entered) return entered.error();
  entered_user_namespace = entered_user_namespace || *entered;

  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) return system_error("socketpair");
  control_.reset(ends[0]);
  const UniqueFd theirs(ends[1]);
  const long pid = syscall(SYS_clone, kWorldFlags | SIGCHLD, nullptr, nullptr, nullptr, nullptr);
  if (pid < 0) return namespace_error(errno);
  if (pid == 0)
    run_init({.control = theirs.get(),
              .tmpfs_bytes = options.tmpfs_bytes,
              .first_pid = kFirstPid,
              .first_resident_pid = kFirstResidentPid,
              .residents = kMaxResidents});
  init_pid_ = static_cast<pid_t>(pid);
  init_pidfd_.reset(pidfd_open(init_pid_));
  if (!init_pidfd_)
    return system_error("pidfd_open", "a kernel of 5.3 or newer, and a container that allows pidfd_open");

  const auto reply = receive_reply(control_.get());
  if (!reply) return reply.error();
  if (reply->stage != InitStage::none) return init_error(*reply);
  facts_ = {
      .pids_repeat = reply->pids_repeat, .no_time_wait = reply->no_time_wait, .user_namespace = entered_user_namespace};
  return {};
}

Sandbox::~Sandbox() {
  if (init_pid_ < 0) return;
  kill(init_pid_, SIGKILL);
  // Init's own death waits for ours: a PID namespace ends only when the last PID in it is reaped.
  const auto reaped = reap(children_);
  if (const auto residents = reap(residents_); !reaped || !residents)
    std::fputs("halfsent: a process of a world could not be reaped\n", stderr);
  if (!init_pidfd_) {
    waitpid(init_pid_, nullptr, 0);
    return;
  }
  pollfd wait{.fd = init_pidfd_.get(), .events = POLLIN, .revents = 0};
  while (poll(&wait, 1, kAnswerLimitMs) < 0 && errno == EINTR) {
  }
  if ((wait.revents & POLLIN) == 0) {
    std::fputs("halfsent: a world does not end (a child in it was never reaped); the kernel ends it with us\n", stderr);
    return;
  }
  wait_pidfd(init_pidfd_.get(), WEXITED);
}

Result<void> Sandbox::command(char what) {
  ssize_t sent = 0;
  do {
    sent = send(control_.get(), &what, 1, MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  if (sent != 1) return system_error("cannot reach the world's init");
  const auto reply = receive_reply(control_.get());
  if (!reply) return reply.error();
  if (reply->stage != InitStage::none) return init_error(*reply);
  return {};
}

Result<void> Sandbox::kill_all() { return command(kInitKill); }

Result<void> Sandbox::reset() {
  if (auto killed = kill_all(); !killed) return killed.error();
  if (auto reaped = reap(children_); !reaped) return reaped.error();
  return command(kInitRenew);
}

Result<bool> Sandbox::expect_resident() {
  if (!facts_.pids_repeat || residents_.size() >= kMaxResidents) return false;
  if (auto placed = command(kInitResident); !placed) return placed.error();
  resident_expected_ = true;
  return true;
}

Result<void> Sandbox::reap(std::vector<UniqueFd>& children) {
  for (const UniqueFd& child : children) {
    if (!wait_pidfd(child.get(), WEXITED) && errno != ECHILD) return system_error("cannot reap a process of the world");
  }
  children.clear();
  return {};
}

Result<void> Sandbox::adopt(int pidfd) {
  UniqueFd own(fcntl(pidfd, F_DUPFD_CLOEXEC, 3));
  if (!own) return system_error("cannot duplicate a pidfd");
  // Those reaped by their owner meanwhile: a long execution must not run out of descriptors.
  std::erase_if(children_, [](const UniqueFd& child) {
    return !wait_pidfd(child.get(), WEXITED | WNOHANG | WNOWAIT) && errno == ECHILD;
  });
  (std::exchange(resident_expected_, false) ? residents_ : children_).push_back(std::move(own));
  return {};
}

std::filesystem::path Sandbox::host_path(const std::filesystem::path& inside) const {
  return std::filesystem::path(fmt::format("/proc/{}/root", init_pid_)) / inside.relative_path();
}

std::filesystem::path Sandbox::root() const { return host_path(kWorldPath); }

Result<Sandbox::NetworkVisit> Sandbox::NetworkVisit::enter(int init_pidfd) {
  UniqueFd home(open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC));
  if (!home) return system_error("cannot open our own network namespace");
  if (setns(init_pidfd, CLONE_NEWNET) != 0)
    return system_error("cannot enter the world's network namespace", namespace_mend());
  return NetworkVisit(std::move(home));
}

Sandbox::NetworkVisit::~NetworkVisit() {
  if (!home_) return;
  if (setns(home_.get(), CLONE_NEWNET) != 0) {
    std::perror("halfsent: cannot return to our own network namespace");
    std::abort();
  }
}

}  // namespace halfsent
