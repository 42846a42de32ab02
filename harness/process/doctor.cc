#include "harness/process/doctor.h"

#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <string>

#include "harness/process/checks.h"
#include "harness/process/namespaces.h"

namespace halfsent {
namespace {

CheckResult architecture() {
  utsname names{};
  uname(&names);
  const std::string machine = names.machine;
  if (machine == "x86_64") return {"architecture", CheckState::ok, machine, ""};
  return {"architecture", CheckState::fail, machine, "only x86-64 Linux is supported: use such a machine"};
}

CheckResult kernel() {
  utsname names{};
  uname(&names);
  return check_kernel_release(names.release);
}

CheckResult tool(const char* name, const char* path, const char* mend) {
  if (access(path, X_OK) == 0) return {name, CheckState::ok, path, ""};
  return {name, CheckState::warn, fmt::format("{} is not there", path), mend};
}
CheckResult python() {
  return tool("python3", "/usr/bin/python3", "install python3 (the Python reference systems and their tests need it)");
}
CheckResult sqlite() {
  return tool("sqlite3", "/usr/bin/sqlite3", "install sqlite3 (to look into a saved ledger by hand)");
}
CheckResult strace() {
  return tool("strace", "/usr/bin/strace",
              "install strace (optional: the cross-check of kills without the harness needs it)");
}

template <int kIndex>
CheckResult namespace_check() {
  const NamespaceKind& kind = namespace_kinds()[kIndex];
  return check_namespace(kNamespaceCheckNames[kIndex], kind.flag);
}

constexpr std::array kChecks{
    Check{"architecture", architecture},
    Check{"kernel", kernel},
    Check{"seccomp_notify", check_seccomp_notify},
    Check{"pidfd_open", check_pidfd_open},
    Check{"pidfd_getfd", check_pidfd_getfd},
    Check{"remote_read", check_remote_read},
    Check{"remote_write", check_remote_write},
    Check{"ptrace", check_ptrace},
    Check{"personality", check_personality},
    Check{kNamespaceCheckNames[0], namespace_check<0>},
    Check{kNamespaceCheckNames[1], namespace_check<1>},
    Check{kNamespaceCheckNames[2], namespace_check<2>},
    Check{kNamespaceCheckNames[3], namespace_check<3>},
    Check{kNamespaceCheckNames[4], namespace_check<4>},
    Check{"proc_mount", check_proc_mount},
    Check{"shm_mount", check_shm_mount},
    Check{"ns_last_pid", check_last_pid},
    Check{"world", check_world},
    Check{"python3", python},
    Check{"sqlite3", sqlite},
    Check{"strace", strace},
};

}  // namespace

CheckResult check_kernel_release(std::string_view release) {
  const std::string found(release);
  int major = 0;
  int minor = 0;
  if (std::sscanf(found.c_str(), "%d.%d", &major, &minor) != 2) {
    return {"kernel", CheckState::fail, fmt::format("unknown release {}", found), "use Linux 5.19 or newer"};
  }
  const auto at_least = [&](int wanted_major, int wanted_minor) {
    return major > wanted_major || (major == wanted_major && minor >= wanted_minor);
  };
  if (at_least(5, 19)) return {"kernel", CheckState::ok, found, ""};
  if (at_least(5, 11)) {
    return {"kernel", CheckState::warn, found + ": no WAIT_KILLABLE_RECV, so signals can restart answered system calls",
            "use Linux 5.19 or newer"};
  }
  return {"kernel", CheckState::fail, found + ": too old (5.11 is the least)", "use Linux 5.19 or newer"};
}

std::span<const Check> doctor_checks() { return kChecks; }

std::vector<CheckResult> run_doctor() {
  std::vector<CheckResult> results;
  for (const Check& check : kChecks) results.push_back(check.run());
  return results;
}

const Check* find_check(std::string_view name) {
  const auto found =
      std::find_if(kChecks.begin(), kChecks.end(), [&](const Check& check) { return name == check.name; });
  return found == kChecks.end() ? nullptr : &*found;
}

}  // namespace halfsent
