// Starts a program in a sandbox, under a seccomp filter whose listener comes back to the harness.
#pragma once

#include <linux/filter.h>
#include <sys/types.h>

#include <span>
#include <string>
#include <vector>

#include "harness/core/error.h"
#include "harness/process/sandbox.h"
#include "harness/process/unique_fd.h"

namespace halfsent {

// The child leaves by exit_group(kLaunchExitMagic) when the start fails. It is under the filter then, and the harness
// is suspended until it is gone, so nobody could answer a notification. A filter must let pass (SECCOMP_RET_ALLOW):
// exit_group with exactly this argument, unshare(CLONE_FILES), dup3, close_range with CLOSE_RANGE_CLOEXEC, and execve.
// It may trap the very same calls with other arguments. As seen by a wait, such a process exited with code 127.
inline constexpr unsigned kLaunchExitMagic = 0x4853007f;

// All references and descriptors are borrowed for the time of the call.
struct LaunchSpec {
  // argv[0] without a slash is looked up in the PATH of `envp`, inside the world's mount namespace; as execvp does.
  std::vector<std::string> argv;
  std::vector<std::string> envp;        // "NAME=value", complete: nothing is inherited
  std::string cwd = Sandbox::kCwdPath;  // inside the world, absolute
  int stdin_fd = -1;                    // -1: /dev/null
  int stdout_fd = -1;
  int stderr_fd = -1;
  std::span<const sock_filter> filter = {};  // empty: no filter, no listener
  bool no_aslr = true;
  int cpu = -1;  // pin to this CPU; -1: as the harness
};

struct Launched {
  pid_t pid = -1;     // as the harness sees it: a direct child, to be reaped by the owner (or by Sandbox::reset)
  UniqueFd pidfd;     // close-on-exec
  UniqueFd listener;  // seccomp notification descriptor, close-on-exec; none without a filter
  bool wait_killable = false;  // the filter has WAIT_KILLABLE_RECV (kernel 5.19)
};

// The program starts as leader of a session and process group of its own, with default signal dispositions, an empty
// signal mask, umask 022, no core dumps, PR_SET_NO_NEW_PRIVS and descriptors 0 to 2 only. Returns when execve has
// succeeded; the program then runs up to its first trapped call. The harness is suspended meanwhile.
//
// Errors: a command that cannot be found or executed, or a missing cwd: ExitCode::usage; any other refusal:
// harness_fault. After an error no process and no descriptor is left.
Result<Launched> launch(Sandbox& sandbox, const LaunchSpec& spec);

}  // namespace halfsent
