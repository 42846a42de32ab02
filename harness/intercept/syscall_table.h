// Every system call that matters, and what we do about it: the one table. What is not in it runs untouched.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace halfsent {

enum class Treatment {
  write,           // an effect when the descriptor is a socket, a pipe or a watched file
  send,            // an effect on a socket
  connect,         // an effect; remembered to tell whose request it is
  file_sync,       // an effect on a watched file, by descriptor
  path_effect,     // an effect on a watched path (unlink, rename, truncate)
  open,            // an effect when it creates or truncates a watched file; random devices are ours
  look_up,         // an announced boundary when the path is the reserved one
  lock,            // fcntl and flock: effects on the ledger, waits when they would block
  clock,           // answered from the virtual clock
  sleep,           // held until a virtual deadline
  wait_fds,        // poll, select, epoll: held until ready or a virtual deadline
  read,            // held while the descriptor would block
  futex,           // held and woken by us
  wait_child,      // held until a child has ended
  wait_signal,     // held until a signal arrives or a virtual deadline
  timer,           // alarm, setitimer, timer_*: kept by us, signals sent by us
  random,          // answered from a keyed stream
  fork,            // new process or thread: looked for after it
  thread_exit,     // a thread leaves
  process_exit,    // exit_group: children are looked for, the exit code is kept
  image,           // arch_prctl: a new program image; patched before its first clock read
  signal,          // may make another thread's wait end
  identity,        // tells the program who it is: a process that is to be forked must not have asked yet
  shared_objects,  // SysV IPC and message queues: not for a forked process, whose IPC namespace is an old one
  set_clock,       // refused with EPERM: the clock is ours
  refuse,          // refused with ENOSYS so that libraries fall back
  unsupported,     // with a time-out, which we do not control, the run is inconclusive
};

struct SyscallRule {
  int number;
  std::string_view name;
  Treatment treatment;
};

std::span<const SyscallRule> syscall_table();

// nullptr when the call is not in the table.
const SyscallRule* find_rule(int number);

}  // namespace halfsent
