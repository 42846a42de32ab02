#include "harness/process/namespaces.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/capability.h>
#include <sched.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "harness/process/unique_fd.h"

namespace halfsent {
namespace {

constexpr std::array kKinds{
    NamespaceKind{CLONE_NEWPID, "PID"}, NamespaceKind{CLONE_NEWNET, "network"}, NamespaceKind{CLONE_NEWNS, "mount"},
    NamespaceKind{CLONE_NEWIPC, "IPC"}, NamespaceKind{CLONE_NEWUTS, "UTS"},
};

bool has_sys_admin() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, 2> data{};
  if (syscall(SYS_capget, &header, data.data()) != 0) return false;
  return (data[0].effective & (1U << CAP_SYS_ADMIN)) != 0;
}

bool write_file(const char* path, std::string_view text) {
  const UniqueFd fd(open(path, O_WRONLY | O_CLOEXEC));
  return fd && write(fd.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

// 0 or errno.
int enter_user_namespace() {
  const uid_t uid = geteuid();
  const gid_t gid = getegid();
  if (unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0) return errno;
  // Without it the kernel refuses a gid map of an unprivileged process; a refusal shows at gid_map.
  write_file("/proc/self/setgroups", "deny");
  if (!write_file("/proc/self/uid_map", fmt::format("{} {} 1", uid, uid))) return errno;
  if (!write_file("/proc/self/gid_map", fmt::format("{} {} 1", gid, gid))) return errno;
  return 0;
}

}  // namespace

std::span<const NamespaceKind> namespace_kinds() { return kKinds; }

Result<bool> ensure_namespace_rights() {
  if (has_sys_admin()) return false;
  if (const int error = enter_user_namespace(); error != 0) {
    return Error{
        .message = fmt::format("cannot enter a user namespace (we lack CAP_SYS_ADMIN): {}", std::strerror(error)),
        .mend = user_namespace_mend()};
  }
  return true;
}

NamespaceTrial try_namespaces(int flags) {
  constexpr int kUserMark = 0x80;  // errno values that can come are all below
  const pid_t child = fork();
  if (child < 0) return {.errno_value = errno};
  if (child == 0) {
    if (!has_sys_admin()) {
      if (const int error = enter_user_namespace(); error != 0) _exit(kUserMark | error);
    }
    _exit(unshare(flags) == 0 ? 0 : errno);
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!WIFEXITED(status)) return {.errno_value = ECHILD};
  const int code = WEXITSTATUS(status);
  if ((code & kUserMark) != 0) return {.user_errno = code & ~kUserMark};
  return {.errno_value = code};
}

std::string namespace_mend() {
  return "run as root or allow unprivileged user namespaces; in a container: --cap-add SYS_ADMIN --security-opt "
         "seccomp=unconfined --security-opt apparmor=unconfined --security-opt systempaths=unconfined";
}

std::string user_namespace_mend() {
  return "run as root, or: sysctl -w kernel.unprivileged_userns_clone=1 (Debian), sysctl -w "
         "kernel.apparmor_restrict_unprivileged_userns=0 (Ubuntu), sysctl -w user.max_user_namespaces=10000; in a "
         "container: "
         "--cap-add SYS_ADMIN --security-opt seccomp=unconfined --security-opt apparmor=unconfined";
}

std::string proc_mount_mend() {
  return "in a container, parts of /proc are masked: --security-opt systempaths=unconfined (Docker), --security-opt "
         "unmask=ALL (Podman), or --privileged";
}

}  // namespace halfsent
