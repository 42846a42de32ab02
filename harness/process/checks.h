// The checks of the doctor that need the kernel; doctor.cc lists them.
#pragma once

#include "harness/process/doctor.h"

namespace halfsent {

// In the order of namespace_kinds().
inline constexpr const char* kNamespaceCheckNames[] = {"pid_namespace", "network_namespace", "mount_namespace",
                                                       "ipc_namespace", "uts_namespace"};

// checks_tracing.cc: stopping and reading other processes.
CheckResult check_seccomp_notify();
CheckResult check_pidfd_open();
CheckResult check_pidfd_getfd();
CheckResult check_remote_read();
CheckResult check_remote_write();
CheckResult check_ptrace();
CheckResult check_personality();

// checks_world.cc: namespaces and mounts.
CheckResult check_namespace(const char* name, int flag);
CheckResult check_proc_mount();
CheckResult check_shm_mount();
CheckResult check_last_pid();
CheckResult check_world();

}  // namespace halfsent
