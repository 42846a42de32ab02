#include "harness/process/death.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <cerrno>
#include <csignal>
#include <cstring>

namespace halfsent {
namespace {

Result<std::optional<Death>> wait_for(pid_t pid, int options) {
  for (;;) {
    int status = 0;
    const pid_t got = waitpid(pid, &status, options);
    if (got == 0) return std::optional<Death>{};
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Error{.message = fmt::format("cannot wait for process {}: {}", pid, std::strerror(errno))};
    // A stop can only be told of a traced child; its end is still to come.
    if (auto death = Death::from_wait_status(status)) return death;
  }
}

}  // namespace

std::optional<Death> Death::from_wait_status(int status) {
  if (WIFEXITED(status)) return Death{.kind = Kind::exited, .value = WEXITSTATUS(status)};
  if (WIFSIGNALED(status)) {
    return Death{.kind = Kind::signaled, .value = WTERMSIG(status), .core_dumped = WCOREDUMP(status) != 0};
  }
  return std::nullopt;
}

bool Death::killed() const { return kind == Kind::signaled && value == SIGKILL; }

std::string Death::to_string() const {
  if (kind == Kind::exited) return fmt::format("exited with code {}", value);
  const char* name = sigabbrev_np(value);
  std::string text = name != nullptr ? fmt::format("killed by SIG{}", name) : fmt::format("killed by signal {}", value);
  if (core_dumped) text += " (core dumped)";
  return text;
}

Result<Death> reap(pid_t pid) {
  const auto death = wait_for(pid, 0);
  if (!death) return death.error();
  return **death;
}

Result<std::optional<Death>> try_reap(pid_t pid) { return wait_for(pid, WNOHANG); }

}  // namespace halfsent
