// The part of a launch that runs in the children, in memory shared with the suspended harness.
#pragma once

#include <linux/filter.h>
#include <sys/types.h>

#include <cstdint>

namespace halfsent {

// What the program's process was doing last; launch_stage_name names it.
enum class LaunchStage : std::uint8_t {
  none,  // no process was made
  enter_pid_namespace,
  clone_process,
  enter_namespaces,
  session,
  personality,
  core_limit,
  affinity,
  working_directory,
  no_new_privileges,
  filter,
  own_descriptors,
  standard_descriptors,
  close_on_exec,
  exec,
};
const char* launch_stage_name(LaunchStage stage);

// Orders and report in one. Prepared by the harness: nothing in the children may allocate.
struct LaunchOrder {
  int init_pidfd = -1;
  const char* const* candidates = nullptr;  // full paths to try in turn, ends with nullptr
  char* const* argv = nullptr;
  char* const* envp = nullptr;
  const char* cwd = nullptr;
  int standard[3] = {-1, -1, -1};  // all above 2
  const sock_fprog* filter = nullptr;
  bool no_aslr = true;
  int cpu = -1;
  char* stack_end = nullptr;  // of the program's process until it has executed

  pid_t pid = -1;
  int listener = -1;
  bool wait_killable = false;
  LaunchStage stage = LaunchStage::none;
  int errno_value = 0;  // 0 at stage exec: executed
};

// The helper between the harness and the program: enters the PID namespace in place of the harness, which could not
// always come back, and makes the program's process a child of the harness. An argument for clone(2); takes a
// LaunchOrder.
int run_launch_helper(void* order);

}  // namespace halfsent
