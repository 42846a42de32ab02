#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "harness/process/check_child.h"
#include "harness/process/checks.h"
#include "harness/process/death.h"
#include "harness/process/launch.h"
#include "harness/process/namespaces.h"
#include "harness/process/sandbox.h"

namespace halfsent {
namespace {

CheckResult from_error(const char* name, const Error& error) {
  return {name, CheckState::fail, error.message, error.mend};
}

// Runs `act` (0 or errno) as PID 1 of new PID and mount namespaces, and judges what it returned. The caller is a child
// process.
template <class Act>
CheckResult as_pid_1(const char* name, const char* what, CheckState on_refusal, const std::string& mend, Act act) {
  if (const auto rights = ensure_namespace_rights(); !rights) return from_error(name, rights.error());
  if (unshare(CLONE_NEWPID | CLONE_NEWNS) != 0) {
    return {name, CheckState::fail, fmt::format("unshare: {}", std::strerror(errno)), namespace_mend()};
  }
  const pid_t child = fork();
  if (child < 0) return {name, CheckState::fail, fmt::format("fork: {}", std::strerror(errno)), namespace_mend()};
  if (child == 0) {
    if (mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) _exit(errno);
    _exit(act());
  }
  const auto death = reap(child);
  if (!death) return from_error(name, death.error());
  if (death->succeeded()) return {name, CheckState::ok, what, ""};
  const std::string why = death->kind == Death::Kind::exited ? std::strerror(death->value) : death->to_string();
  return {name, on_refusal, fmt::format("{}: {}", what, why), mend};
}

int mount_proc() { return mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr) == 0 ? 0 : errno; }

CheckResult try_world() {
  auto sandbox = Sandbox::create();
  if (!sandbox) return from_error("world", sandbox.error());
  auto launched = launch(**sandbox, {.argv = {"true"}, .envp = {"PATH=/usr/bin:/bin"}});
  if (!launched) return from_error("world", launched.error());
  const auto death = reap(launched->pid);
  if (!death) return from_error("world", death.error());
  if (!death->succeeded()) return {"world", CheckState::fail, "\"true\" " + death->to_string(), ""};
  if (const auto renewed = (*sandbox)->reset(); !renewed) return from_error("world", renewed.error());
  const SandboxFacts& facts = (*sandbox)->facts();
  std::string found = facts.user_namespace ? "made in a user namespace, " : "made, ";
  found += "used and reset";
  if (facts.no_time_wait) return {"world", CheckState::ok, found, ""};
  return {"world", CheckState::warn,
          found + "; net.ipv4.tcp_max_tw_buckets cannot be set: closed ports stay taken for a minute",
          "in a container: --security-opt systempaths=unconfined"};
}

}  // namespace

CheckResult check_namespace(const char* name, int flag) {
  const NamespaceTrial trial = try_namespaces(flag);
  if (trial.granted()) return {name, CheckState::ok, "granted", ""};
  if (trial.user_errno != 0) {
    return {name, CheckState::fail, fmt::format("the user namespace it needs: {}", std::strerror(trial.user_errno)),
            user_namespace_mend()};
  }
  return {name, CheckState::fail, fmt::format("refused: {}", std::strerror(trial.errno_value)), namespace_mend()};
}

CheckResult check_proc_mount() {
  return run_in_child("proc_mount", [] {
    return as_pid_1("proc_mount", "a /proc of its own", CheckState::fail, proc_mount_mend(), mount_proc);
  });
}

CheckResult check_shm_mount() {
  return run_in_child("shm_mount", [] {
    return as_pid_1("shm_mount", "a tmpfs on /dev/shm", CheckState::fail,
                    "the folder /dev/shm must exist; " + namespace_mend(),
                    [] { return mount("world", "/dev/shm", "tmpfs", 0, "size=1m") == 0 ? 0 : errno; });
  });
}

CheckResult check_last_pid() {
  return run_in_child("ns_last_pid", [] {
    return as_pid_1("ns_last_pid", "writing ns_last_pid, so that PIDs repeat", CheckState::warn,
                    "a kernel with CONFIG_CHECKPOINT_RESTORE; programs that store their PID will not repeat exactly",
                    [] {
                      if (const int error = mount_proc(); error != 0) return error;
                      const UniqueFd file(open("/proc/sys/kernel/ns_last_pid", O_WRONLY | O_CLOEXEC));
                      return file && write(file.get(), "1000", 4) == 4 ? 0 : errno;
                    });
  });
}

CheckResult check_world() { return run_in_child("world", try_world); }

}  // namespace halfsent
