#include "harness/process/launch.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <limits>
#include <string_view>
#include <utility>

#include "harness/core/text.h"
#include "harness/process/death.h"
#include "harness/process/launch_child.h"
#include "harness/process/namespaces.h"

namespace halfsent {
namespace {

constexpr std::size_t kStackBytes = 64 * 1024;
// One launch at a time (single-threaded): the helper's stack and the program's until it has executed.
alignas(64) std::array<char, kStackBytes> helper_stack;
alignas(64) std::array<char, kStackBytes> program_stack;

// A C array of strings that borrows from `texts`.
std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> result;
  result.reserve(texts.size() + 1);
  for (const std::string& text : texts) result.push_back(const_cast<char*>(text.c_str()));
  result.push_back(nullptr);
  return result;
}

std::string_view search_path(const std::vector<std::string>& envp) {
  for (const std::string_view entry : envp) {
    if (entry.starts_with("PATH=")) return entry.substr(5);
  }
  return "/bin:/usr/bin";  // the default of execvp
}

std::vector<std::string> candidates_of(const LaunchSpec& spec) {
  const std::string& name = spec.argv.front();
  if (name.find('/') != std::string::npos) return {name};
  std::vector<std::string> result;
  std::string_view path = search_path(spec.envp);
  for (;;) {
    const std::size_t colon = path.find(':');
    const std::string_view folder = path.substr(0, colon);
    result.push_back(folder.empty() ? "./" + name : fmt::format("{}/{}", folder, name));
    if (colon == std::string_view::npos) return result;
    path.remove_prefix(colon + 1);
  }
}

Result<void> check_spec(const LaunchSpec& spec) {
  const auto wrong = [](std::string message, std::string mend) {
    return Error{.code = ExitCode::usage, .message = std::move(message), .mend = std::move(mend)};
  };
  if (spec.argv.empty() || spec.argv.front().empty())
    return wrong("no command to start", "give at least a program name");
  if (!spec.cwd.starts_with('/')) return wrong("the working directory is not absolute", "give a path inside the world");
  const auto has_nul = [](const std::string& text) { return text.find('\0') != std::string::npos; };
  for (const auto* list : {&spec.argv, &spec.envp}) {
    for (const std::string& text : *list) {
      if (has_nul(text))
        return wrong("an argument or environment entry contains a NUL byte", "remove it: execve cannot pass it");
    }
  }
  if (has_nul(spec.cwd)) return wrong("the working directory contains a NUL byte", "remove it");
  if (spec.filter.size() > std::numeric_limits<unsigned short>::max())
    return Error{.message = "the filter is too long"};
  return {};
}

// Copies above the standard descriptors, so that the child's dup3 can neither overwrite one it still needs nor meet
// itself.
Result<std::array<UniqueFd, 3>> standard_copies(const LaunchSpec& spec) {
  std::array<UniqueFd, 3> copies;
  const std::array<int, 3> given{spec.stdin_fd, spec.stdout_fd, spec.stderr_fd};
  UniqueFd null(open("/dev/null", O_RDWR | O_CLOEXEC));
  for (std::size_t i = 0; i < given.size(); ++i) {
    copies[i].reset(fcntl(given[i] >= 0 ? given[i] : null.get(), F_DUPFD_CLOEXEC, 3));
    if (!copies[i]) {
      return Error{.message = fmt::format("cannot duplicate descriptor {} of a process to start: {}", given[i],
                                          std::strerror(errno))};
    }
  }
  return copies;
}

// Blocks every signal for its lifetime: a handler must not run in a child that shares our memory.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &old_);
  }
  ~SignalsBlocked() { sigprocmask(SIG_SETMASK, &old_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t old_{};
};

// Returns when the program has executed or has failed to.
void run_order(LaunchOrder& order) {
  const SignalsBlocked blocked;
  order.stack_end = program_stack.data() + program_stack.size();
  const pid_t helper = clone(run_launch_helper, helper_stack.data() + helper_stack.size(),
                             CLONE_VM | CLONE_VFORK | CLONE_FILES | SIGCHLD, &order);
  if (helper < 0) {
    order.errno_value = errno;
    return;
  }
  while (waitpid(helper, nullptr, 0) < 0 && errno == EINTR) {
  }
}

std::string in_quotes(std::string_view text) { return fmt::format("\"{}\"", printable(text)); }

// Is there a file at the path as the world sees it?
bool exists_inside(const Sandbox& sandbox, const std::string& path, const std::string& cwd) {
  std::error_code ignored;
  return std::filesystem::exists(sandbox.host_path(std::filesystem::path(cwd) / path), ignored);
}

Error exec_error(const Sandbox& sandbox, const LaunchSpec& spec, const std::vector<std::string>& candidates,
                 int error) {
  Error result{.code = ExitCode::usage,
               .message = fmt::format("cannot start {}: {}", in_quotes(spec.argv.front()), std::strerror(error))};
  std::string present;
  for (const std::string& candidate : candidates) {
    if (present.empty() && exists_inside(sandbox, candidate, spec.cwd)) present = candidate;
  }
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      result.mend =
          !present.empty()
              ? fmt::format("{} is there, but the interpreter its first line names is not", in_quotes(present))
          : candidates.size() > 1 || candidates.front() != spec.argv.front()
              ? fmt::format("install it or correct the name; looked in PATH {}", in_quotes(search_path(spec.envp)))
              : "correct the path; it is taken inside the world";
      break;
    case EACCES:
      result.mend = fmt::format("make {} executable (chmod +x), and its file system not noexec",
                                in_quotes(present.empty() ? spec.argv.front() : present));
      break;
    case ENOEXEC:
      result.mend = "it is no program for this machine; a script needs a first line such as #!/bin/sh";
      break;
    case E2BIG:
      result.mend = "arguments and environment are too long together";
      break;
    default:
      result.code = ExitCode::harness_fault;
  }
  return result;
}

Error launch_error(const Sandbox& sandbox, const LaunchSpec& spec, const std::vector<std::string>& candidates,
                   const LaunchOrder& order) {
  const int error = order.errno_value;
  if (order.stage == LaunchStage::exec) return exec_error(sandbox, spec, candidates, error);
  if (order.stage == LaunchStage::working_directory) {
    return Error{.code = ExitCode::usage,
                 .message = fmt::format("cannot start {} in the working directory {}: {}", in_quotes(spec.argv.front()),
                                        in_quotes(spec.cwd), std::strerror(error)),
                 .mend = "it must exist inside the world"};
  }
  Error result{.message = fmt::format("cannot start {}: {} failed: {}", in_quotes(spec.argv.front()),
                                      launch_stage_name(order.stage), std::strerror(error))};
  if (order.stage == LaunchStage::filter && error == EBUSY) {
    result.mend = "a filter with a listener is installed already: do not run under another supervisor of system calls";
  } else if (order.stage == LaunchStage::filter || order.stage == LaunchStage::personality) {
    result.mend = "in a container: --security-opt seccomp=unconfined; see halfsent doctor";
  } else if (order.stage == LaunchStage::enter_pid_namespace || order.stage == LaunchStage::enter_namespaces) {
    result.mend = namespace_mend();
  } else if (order.stage == LaunchStage::affinity) {
    result.mend = fmt::format("CPU {} is not among those this process may use", spec.cpu);
  }
  return result;
}

}  // namespace

Result<Launched> launch(Sandbox& sandbox, const LaunchSpec& spec) {
  if (auto checked = check_spec(spec); !checked) return checked.error();
  const std::vector<std::string> candidates = candidates_of(spec);
  const std::vector<char*> candidate_pointers = pointers(candidates);
  const std::vector<char*> argv = pointers(spec.argv);
  const std::vector<char*> envp = pointers(spec.envp);
  const auto standard = standard_copies(spec);
  if (!standard) return standard.error();
  const sock_fprog program{static_cast<unsigned short>(spec.filter.size()),
                           const_cast<sock_filter*>(spec.filter.data())};

  LaunchOrder order{.init_pidfd = sandbox.init_pidfd(),
                    .candidates = candidate_pointers.data(),
                    .argv = argv.data(),
                    .envp = envp.data(),
                    .cwd = spec.cwd.c_str(),
                    .standard = {(*standard)[0].get(), (*standard)[1].get(), (*standard)[2].get()},
                    .filter = spec.filter.empty() ? nullptr : &program,
                    .no_aslr = spec.no_aslr,
                    .cpu = spec.cpu};
  run_order(order);

  Launched launched;
  launched.pid = order.pid;
  launched.listener.reset(order.listener);
  launched.wait_killable = order.wait_killable;
  const bool executed = order.stage == LaunchStage::exec && order.errno_value == 0;
  if (!executed) {
    if (order.pid < 0) return launch_error(sandbox, spec, candidates, order);
    const auto death = reap(order.pid);
    if (order.errno_value != 0) return launch_error(sandbox, spec, candidates, order);
    return Error{.message =
                     fmt::format("cannot start {}: {} after {}", in_quotes(spec.argv.front()),
                                 death ? death->to_string() : death.error().message, launch_stage_name(order.stage))};
  }
  launched.pidfd.reset(static_cast<int>(syscall(SYS_pidfd_open, order.pid, 0)));
  if (launched.pidfd) {
    if (auto adopted = sandbox.adopt(launched.pidfd.get()); adopted) return launched;
  }
  Error error{.message = fmt::format("cannot watch a started process: {}", std::strerror(errno))};
  kill(order.pid, SIGKILL);
  (void)reap(order.pid);
  return error;
}

}  // namespace halfsent
