// The namespaces that a world lives in, kept over many executions.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <filesystem>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "harness/core/error.h"
#include "harness/process/unique_fd.h"

namespace halfsent {

struct SandboxOptions {
  std::size_t tmpfs_bytes = std::size_t{1} << 30;  // limit of everything under /dev/shm of the world
};

// What the kernel granted beyond the necessary. A false here makes runs less repeatable, not wrong.
struct SandboxFacts {
  bool pids_repeat = false;     // /proc/sys/kernel/ns_last_pid can be written
  bool no_time_wait = false;    // net.ipv4.tcp_max_tw_buckets is 0: ports are free again at once
  bool user_namespace = false;  // this process entered a user namespace because it lacked CAP_SYS_ADMIN
};

// PID, network, mount, IPC and UTS namespaces with an init of ours as PID 1. In the world:
//   /proc            its own;
//   /dev/shm         a fresh tmpfs (mode 1777, limit SandboxOptions::tmpfs_bytes) with /dev/shm/world/{cwd,home,tmp};
//   lo               up, the only interface: 127.0.0.1 and ::1, no egress;
//   host name        "world";
//   PIDs             the first process after create() or reset() has PID kFirstPid (SandboxFacts::pids_repeat).
// All other paths are the host's, writable as far as permissions go.
//
// Nothing of a world outlives its owner: init dies with the thread that called create() (also by SIGKILL) or when its
// control socket closes, and the kernel kills everything in the PID namespace with it. (What launch() had started is
// then left, dead, to the host's reaper of orphans; init stays, just as dead, until that has reaped it.)
//
// Threads: single-threaded process only; create and use on the main thread. Not copyable, not movable; destroying it
// ends the world and waits until it is gone. Several sandboxes may exist side by side.
class Sandbox {
 public:
  static constexpr pid_t kFirstPid = 1001;  // as seen inside
  static constexpr pid_t kFirstResidentPid = 501;
  static constexpr int kMaxResidents = 100;
  static constexpr const char* kWorldPath = "/dev/shm/world";  // as seen inside
  static constexpr const char* kCwdPath = "/dev/shm/world/cwd";
  static constexpr const char* kHomePath = "/dev/shm/world/home";
  static constexpr const char* kTmpPath = "/dev/shm/world/tmp";

  // Without CAP_SYS_ADMIN the *process* first enters a user namespace and an empty network namespace of its own, once
  // and for good (leaving a world's network needs a network namespace that we own). Errors (harness_fault): what the
  // kernel refused, and the mend for containers and hardened hosts.
  static Result<std::unique_ptr<Sandbox>> create(const SandboxOptions& options = {});
  ~Sandbox();
  Sandbox(const Sandbox&) = delete;
  Sandbox& operator=(const Sandbox&) = delete;

  // Ends every process of the world but residents by SIGKILL, then makes it as new: fresh tmpfs and folders, fresh IPC
  // namespace (SysV objects and POSIX queues gone, ids start again), PIDs start again. Kept: the network namespace, so
  // listening sockets of the harness stay usable. Descriptors that the harness still has into the old tmpfs keep the
  // old files; close them before. Processes made by launch() that the owner has not reaped are reaped here: a later
  // wait for them gives ECHILD. Children of this process that came into the world otherwise (forks with CLONE_PARENT)
  // must be reaped before, or be adopted. Errors: harness_fault; the sandbox is of no use after one.
  Result<void> reset();

  // The next process that launch() makes is a resident: it gets a PID from kFirstResidentPid on and outlives reset(),
  // which it must not have to notice: its working folder and its IPC namespace stay the old ones. After it, reset()
  // before anything else is started. False: PIDs cannot be chosen here, and there are no residents.
  Result<bool> expect_resident();

  // SIGKILL to everything but init and residents, as reset() begins with: returns when the signals are sent, not when
  // all have died.
  Result<void> kill_all();

  // Makes reset() (for a resident: only the destructor) reap this child too. Duplicates `pidfd`. launch() has done it
  // for what it returns.
  Result<void> adopt(int pidfd);

  [[nodiscard]] pid_t init_pid() const { return init_pid_; }  // as seen by the harness
  // Borrowed. setns(init_pidfd(), CLONE_NEWNS | CLONE_NEWNET | ...) enters the namespaces in one call.
  [[nodiscard]] int init_pidfd() const { return init_pidfd_.get(); }
  // The world's folder as the harness reaches it: /proc/<init>/root/dev/shm/world. The same after every reset().
  [[nodiscard]] std::filesystem::path root() const;
  // Any absolute path of the world as the harness reaches it. Absolute symbolic links on it resolve on the *host* side.
  [[nodiscard]] std::filesystem::path host_path(const std::filesystem::path& inside) const;
  [[nodiscard]] const SandboxFacts& facts() const { return facts_; }

  // Runs fn (which returns a Result<T>) with the calling thread in the world's network namespace: sockets made there
  // belong to the world for good. Returns to the thread's own namespace also when fn throws; failing to return ends the
  // process.
  template <class F>
  auto in_network(F&& fn) -> std::invoke_result_t<F> {
    auto visit = NetworkVisit::enter(init_pidfd());
    if (!visit) return visit.error();
    return std::forward<F>(fn)();
  }

 private:
  class NetworkVisit {
   public:
    static Result<NetworkVisit> enter(int init_pidfd);
    NetworkVisit(NetworkVisit&&) noexcept = default;
    ~NetworkVisit();

   private:
    explicit NetworkVisit(UniqueFd home) : home_(std::move(home)) {}
    UniqueFd home_;
  };

  Sandbox() = default;
  Result<void> start(const SandboxOptions& options);
  Result<void> command(char what);  // one round trip with init
  Result<void> reap(std::vector<UniqueFd>& children);

  pid_t init_pid_ = -1;
  UniqueFd init_pidfd_;
  UniqueFd control_;
  SandboxFacts facts_;
  std::vector<UniqueFd> children_;   // pidfds; some may be reaped already
  std::vector<UniqueFd> residents_;  // likewise
  bool resident_expected_ = false;
};

}  // namespace halfsent
