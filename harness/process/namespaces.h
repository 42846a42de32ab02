// The right to make namespaces, and which of them the kernel grants.
#pragma once

#include <span>
#include <string>

#include "harness/core/error.h"

namespace halfsent {

struct NamespaceKind {
  int flag;  // CLONE_NEW...
  const char* name;
};

// Those a world has: PID, network, mount, IPC, UTS.
std::span<const NamespaceKind> namespace_kinds();

// With CAP_SYS_ADMIN: nothing, false. Without: this process enters a user namespace (its own uid and gid, mapped to
// themselves) together with a network namespace, for good; true. Once entered, later calls do nothing. Needs a
// single-threaded process. Errors: harness_fault with the mend.
Result<bool> ensure_namespace_rights();

// What a child process meets that tries to make the namespaces of `flags`.
struct NamespaceTrial {
  int user_errno = 0;  // of entering the user namespace, where one was needed
  int errno_value = 0;
  [[nodiscard]] bool granted() const { return user_errno == 0 && errno_value == 0; }
};
NamespaceTrial try_namespaces(int flags);

// The mends, in words for an operator.
std::string namespace_mend();
std::string user_namespace_mend();
std::string proc_mount_mend();

}  // namespace halfsent
