// A process that has been started once and is forked often.
//
// The kernel has stopped it at a system call that is trapped; from outside it is made to execute clone(2) instead, and
// the child to execute the trapped call: so the child arrives at the same stop as a process started anew would have.
// (The method is that of checkpointing debuggers: ptrace, the registers and the two bytes of the syscall instruction.)
//
// Threads: the one that made it, for all of its life: ptrace knows one tracer. The template must be single-threaded and
// a direct child of this process. It dies with this object, and with this process.
#pragma once

#include <sys/types.h>
#include <sys/user.h>

#include <cstdint>
#include <string>

#include "harness/core/error.h"
#include "harness/process/unique_fd.h"

namespace halfsent {

class ProcessTemplate {
 public:
  // Takes over `pid`, which waits in the trapped call `number` for an answer to `notification` on `listener`. The call
  // is not made. `listener` is borrowed and must live as long as this. Errors: harness_fault, the process is dead then.
  static Result<ProcessTemplate> take(pid_t pid, int listener, std::uint64_t notification, int number);
  ProcessTemplate(ProcessTemplate&& other) noexcept;
  ProcessTemplate& operator=(ProcessTemplate&&) = delete;
  ~ProcessTemplate();

  // A child of this process, in a session and process group of its own and in working folder `cwd` (as the world sees
  // it), about to make the call that the template was stopped at: its notification comes to the listener.
  // Its C
  // library goes on to believe that its thread has the template's number, by which it knows the owner of the locks that
  // it holds. Nobody else may use the listener meanwhile. Errors: harness_fault; the template is of no use after one.
  Result<pid_t> fork(const std::string& cwd);

  [[nodiscard]] pid_t pid() const { return pid_; }

 private:
  ProcessTemplate(pid_t pid, int listener, int number) : pid_(pid), listener_(listener), number_(number) {}

  Result<void> let_clone_pass() const;
  Result<void> send_off(pid_t child, const std::string& cwd) const;
  [[nodiscard]] user_regs_struct registers_for(std::uint64_t number) const;

  pid_t pid_ = -1;  // -1: moved from
  int listener_ = -1;
  int number_ = 0;
  user_regs_struct stopped_at_{};  // behind the syscall instruction
};

}  // namespace halfsent
