// How a process ended, and waiting for direct children.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "harness/core/error.h"

namespace halfsent {

// A process that was killed has no exit code, and one that exits with 137 was not killed: the two never mix.
struct Death {
  enum class Kind { exited, signaled };
  Kind kind = Kind::exited;
  int value = 0;  // exit code, or signal number
  bool core_dumped = false;

  // From the status of wait4/waitpid; nullopt if it tells of a stop or a continuation.
  static std::optional<Death> from_wait_status(int status);

  [[nodiscard]] bool killed() const;  // by SIGKILL
  [[nodiscard]] bool succeeded() const { return kind == Kind::exited && value == 0; }
  [[nodiscard]] std::string to_string() const;  // "exited with code 3", "killed by SIGKILL"
  friend bool operator==(const Death&, const Death&) = default;
};

// Waits for a direct child to end and reaps it. Blocks. Errors: harness_fault (not a child of ours, or reaped already).
Result<Death> reap(pid_t pid);

// As reap, without blocking; nullopt: it still runs.
Result<std::optional<Death>> try_reap(pid_t pid);

}  // namespace halfsent
