#include "harness/intercept/syscall_table.h"

#include <sys/syscall.h>

#include <array>

namespace halfsent {
namespace {

#define HALFSENT_RULE(call, treatment) \
  SyscallRule { SYS_##call, #call, Treatment::treatment }

constexpr SyscallRule rules[] = {
    HALFSENT_RULE(write, write),
    HALFSENT_RULE(writev, write),
    HALFSENT_RULE(pwrite64, write),
    HALFSENT_RULE(pwritev, write),
    HALFSENT_RULE(pwritev2, write),
    HALFSENT_RULE(sendfile, write),
    HALFSENT_RULE(sendto, send),
    HALFSENT_RULE(sendmsg, send),
    HALFSENT_RULE(sendmmsg, send),
    HALFSENT_RULE(connect, connect),
    HALFSENT_RULE(fsync, file_sync),
    HALFSENT_RULE(fdatasync, file_sync),
    HALFSENT_RULE(ftruncate, file_sync),
    HALFSENT_RULE(fallocate, file_sync),
    HALFSENT_RULE(unlink, path_effect),
    HALFSENT_RULE(unlinkat, path_effect),
    HALFSENT_RULE(rename, path_effect),
    HALFSENT_RULE(renameat, path_effect),
    HALFSENT_RULE(renameat2, path_effect),
    HALFSENT_RULE(truncate, path_effect),
    HALFSENT_RULE(link, path_effect),
    HALFSENT_RULE(linkat, path_effect),
    HALFSENT_RULE(open, open),
    HALFSENT_RULE(openat, open),
    HALFSENT_RULE(openat2, open),
    HALFSENT_RULE(creat, open),
    HALFSENT_RULE(stat, look_up),
    HALFSENT_RULE(lstat, look_up),
    HALFSENT_RULE(newfstatat, look_up),
    HALFSENT_RULE(statx, look_up),
    HALFSENT_RULE(access, look_up),
    HALFSENT_RULE(faccessat, look_up),
    HALFSENT_RULE(faccessat2, look_up),
    HALFSENT_RULE(fcntl, lock),
    HALFSENT_RULE(flock, lock),
    HALFSENT_RULE(clock_gettime, clock),
    HALFSENT_RULE(gettimeofday, clock),
    HALFSENT_RULE(time, clock),
    HALFSENT_RULE(times, clock),
    HALFSENT_RULE(clock_nanosleep, sleep),
    HALFSENT_RULE(nanosleep, sleep),
    HALFSENT_RULE(poll, wait_fds),
    HALFSENT_RULE(ppoll, wait_fds),
    HALFSENT_RULE(select, wait_fds),
    HALFSENT_RULE(pselect6, wait_fds),
    HALFSENT_RULE(epoll_wait, wait_fds),
    HALFSENT_RULE(epoll_pwait, wait_fds),
    HALFSENT_RULE(epoll_pwait2, wait_fds),
    HALFSENT_RULE(read, read),
    HALFSENT_RULE(readv, read),
    HALFSENT_RULE(recvfrom, read),
    HALFSENT_RULE(recvmsg, read),
    HALFSENT_RULE(accept, read),
    HALFSENT_RULE(accept4, read),
    HALFSENT_RULE(futex, futex),
    HALFSENT_RULE(wait4, wait_child),
    HALFSENT_RULE(waitid, wait_child),
    HALFSENT_RULE(pause, wait_signal),
    HALFSENT_RULE(rt_sigsuspend, wait_signal),
    HALFSENT_RULE(rt_sigtimedwait, wait_signal),
    HALFSENT_RULE(alarm, timer),
    HALFSENT_RULE(setitimer, timer),
    HALFSENT_RULE(getitimer, timer),
    HALFSENT_RULE(timer_create, timer),
    HALFSENT_RULE(timer_settime, timer),
    HALFSENT_RULE(timer_gettime, timer),
    HALFSENT_RULE(timer_getoverrun, timer),
    HALFSENT_RULE(timer_delete, timer),
    HALFSENT_RULE(getrandom, random),
    HALFSENT_RULE(fork, fork),
    HALFSENT_RULE(vfork, fork),
    HALFSENT_RULE(clone, fork),
    HALFSENT_RULE(clone3, fork),
    HALFSENT_RULE(exit, thread_exit),
    HALFSENT_RULE(exit_group, process_exit),
    HALFSENT_RULE(arch_prctl, image),
    HALFSENT_RULE(kill, signal),
    HALFSENT_RULE(tkill, signal),
    HALFSENT_RULE(tgkill, signal),
    HALFSENT_RULE(rt_sigqueueinfo, signal),
    HALFSENT_RULE(rt_tgsigqueueinfo, signal),
    HALFSENT_RULE(pidfd_send_signal, signal),
    HALFSENT_RULE(settimeofday, set_clock),
    HALFSENT_RULE(clock_settime, set_clock),
    HALFSENT_RULE(adjtimex, set_clock),
    HALFSENT_RULE(clock_adjtime, set_clock),
    HALFSENT_RULE(getpid, identity),
    HALFSENT_RULE(gettid, identity),
    HALFSENT_RULE(getppid, identity),
    HALFSENT_RULE(getpgrp, identity),
    HALFSENT_RULE(getpgid, identity),
    HALFSENT_RULE(getsid, identity),
    HALFSENT_RULE(shmget, shared_objects),
    HALFSENT_RULE(semget, shared_objects),
    HALFSENT_RULE(msgget, shared_objects),
    HALFSENT_RULE(mq_open, shared_objects),
    HALFSENT_RULE(io_uring_setup, refuse),
    HALFSENT_RULE(timerfd_create, refuse),
    HALFSENT_RULE(recvmmsg, unsupported),
    HALFSENT_RULE(semtimedop, unsupported),
    HALFSENT_RULE(mq_timedsend, unsupported),
    HALFSENT_RULE(mq_timedreceive, unsupported),
    HALFSENT_RULE(io_getevents, unsupported),
    HALFSENT_RULE(io_pgetevents, unsupported),
    SyscallRule{449, "futex_waitv", Treatment::unsupported},
    SyscallRule{455, "futex_wait", Treatment::unsupported},
};

#undef HALFSENT_RULE

// Rules by number, for the hot path.
constexpr int numbers = 512;
constexpr auto by_number = [] {
  std::array<std::int16_t, numbers> index{};
  index.fill(-1);
  for (std::size_t i = 0; i < std::size(rules); ++i)
    index[static_cast<std::size_t>(rules[i].number)] = static_cast<std::int16_t>(i);
  return index;
}();

}  // namespace

std::span<const SyscallRule> syscall_table() { return rules; }

const SyscallRule* find_rule(int number) {
  if (number < 0 || number >= numbers) return nullptr;
  const std::int16_t index = by_number[static_cast<std::size_t>(number)];
  return index < 0 ? nullptr : &rules[index];
}

}  // namespace halfsent
