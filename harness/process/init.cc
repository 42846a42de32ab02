#include "harness/process/init.h"

#include <dirent.h>
#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "harness/process/sandbox.h"

namespace halfsent {
namespace {

bool has_residents = false;  // of this init's world

InitReply failed(InitStage stage) { return {.stage = stage, .errno_value = errno}; }

bool write_setting(const char* path, const char* text) {
  const int fd = open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const auto size = static_cast<ssize_t>(std::strlen(text));
  const bool done = write(fd, text, static_cast<std::size_t>(size)) == size;
  close(fd);
  return done;
}

bool raise_loopback() {
  const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return false;
  ifreq request{};
  std::strcpy(request.ifr_name, "lo");
  bool done = ioctl(fd, SIOCGIFFLAGS, &request) == 0;
  if (done) {
    request.ifr_flags = static_cast<short>(request.ifr_flags | IFF_UP | IFF_RUNNING);
    done = ioctl(fd, SIOCSIFFLAGS, &request) == 0;
  }
  const int saved = errno;
  close(fd);
  errno = saved;
  return done;
}

// Keeps the control socket only: descriptors of the harness (listeners, pipes, other worlds) must not live on in here.
void close_others(int keep) {
  if (keep > 0) syscall(SYS_close_range, 0U, static_cast<unsigned>(keep) - 1U, 0U);
  syscall(SYS_close_range, static_cast<unsigned>(keep) + 1U, ~0U, 0U);
}

void reset_signals() {
  for (int number = 1; number < NSIG; ++number) signal(number, SIG_DFL);
  // The kernel reaps orphans at once: no zombie's PID depends on when we are scheduled.
  signal(SIGCHLD, SIG_IGN);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

bool start_pids_at(int pid) {
  char last_pid[16];
  std::snprintf(last_pid, sizeof last_pid, "%d", pid - 1);
  return write_setting("/proc/sys/kernel/ns_last_pid", last_pid);
}

InitReply fill_world(const InitConfig& config) {
  char options[64];
  std::snprintf(options, sizeof options, "mode=1777,size=%zu", config.tmpfs_bytes);
  if (mount("world", "/dev/shm", "tmpfs", MS_NOSUID | MS_NODEV, options) != 0) return failed(InitStage::shm_mount);
  umask(0);
  if (mkdir(Sandbox::kWorldPath, 0755) != 0 || mkdir(Sandbox::kCwdPath, 0755) != 0 ||
      mkdir(Sandbox::kHomePath, 0755) != 0 || mkdir(Sandbox::kTmpPath, 01777) != 0) {
    return failed(InitStage::folders);
  }
  if (sethostname("world", 5) != 0) return failed(InitStage::host_name);
  return {.pids_repeat = start_pids_at(config.first_pid)};
}

InitReply set_up(const InitConfig& config) {
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) return failed(InitStage::parent_death_signal);
  prctl(PR_SET_NAME, "world-init");
  if (mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return failed(InitStage::private_mounts);
  if (mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr) != 0)
    return failed(InitStage::proc_mount);
  if (!raise_loopback()) return failed(InitStage::loopback);
  const bool no_time_wait = write_setting("/proc/sys/net/ipv4/tcp_max_tw_buckets", "0");
  InitReply reply = fill_world(config);
  reply.no_time_wait = no_time_wait;
  return reply;
}

// Calls `visit(pid)` for every process that is neither init nor a resident; how many there are, -1 without /proc.
template <class Visit>
int visit_processes(const InitConfig& config, const Visit& visit) {
  const int folder = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return -1;
  alignas(dirent64) char entries[4096];
  int count = 0;
  for (long got = 0; (got = syscall(SYS_getdents64, folder, entries, sizeof entries)) > 0;) {
    for (long at = 0; at < got;) {
      const auto* entry = reinterpret_cast<const dirent64*>(entries + at);
      at += entry->d_reclen;
      const int pid = std::atoi(entry->d_name);  // 0 for what is no process
      const bool resident = pid >= config.first_resident_pid && pid < config.first_resident_pid + config.residents;
      if (pid <= 1 || resident) continue;
      ++count;
      visit(pid);
    }
  }
  close(folder);
  return count;
}

// A process that has been sent SIGKILL forks no more: when nobody new shows, all are on their way.
void kill_others(const InitConfig& config) {
  if (!has_residents) {
    kill(-1, SIGKILL);
    return;
  }
  constexpr int kPasses = 1000;
  int last_count = -1;
  int last_highest = -1;
  for (int i = 0; i < kPasses; ++i) {
    int highest = 0;
    const int count = visit_processes(config, [&](int pid) {
      kill(pid, SIGKILL);
      highest = pid > highest ? pid : highest;
    });
    if (count <= 0 || (count == last_count && highest == last_highest)) return;
    last_count = count;
    last_highest = highest;
  }
}

// Waits until nobody but us and residents has a PID here. False: somebody stays, which can only be a child of the
// harness that it has not reaped.
bool wait_until_alone(const InitConfig& config) {
  // SIGCHLD is ignored, so this blocks until the last child is gone. What was orphaned by a death has become our child
  // before that death can be waited for.
  while (waitpid(-1, nullptr, __WALL) >= 0 || errno == EINTR) {
  }
  // A task that nobody waits for gives its PID back a little after it has stopped being a child. The kernel tells no
  // event for it.
  constexpr timespec kPause{.tv_sec = 0, .tv_nsec = 50'000};
  constexpr int kTries = 10'000;
  for (int i = 0; i < kTries; ++i) {
    if (has_residents ? visit_processes(config, [](int) {}) == 0 : kill(-1, 0) != 0) return true;
    nanosleep(&kPause, nullptr);
  }
  return false;
}

InitReply renew(const InitConfig& config) {
  kill_others(config);
  if (!wait_until_alone(config)) {
    errno = EBUSY;
    return failed(InitStage::leftover_process);
  }
  if (umount2("/dev/shm", MNT_DETACH) != 0) return failed(InitStage::shm_unmount);
  if (unshare(CLONE_NEWIPC) != 0) return failed(InitStage::ipc_namespace);
  return fill_world(config);
}

InitReply obey(char command, const InitConfig& config) {
  if (command == kInitRenew) return renew(config);
  if (command == kInitResident) {
    has_residents = true;
    return {.pids_repeat = start_pids_at(config.first_resident_pid)};
  }
  kill_others(config);
  return {};
}

void answer(int control, const InitReply& reply) {
  while (send(control, &reply, sizeof reply, MSG_NOSIGNAL) < 0 && errno == EINTR) {
  }
}

}  // namespace

const char* init_stage_name(InitStage stage) {
  switch (stage) {
    case InitStage::none:
      return "nothing";
    case InitStage::parent_death_signal:
      return "setting the parent death signal";
    case InitStage::private_mounts:
      return "making the mounts private";
    case InitStage::proc_mount:
      return "mounting /proc";
    case InitStage::loopback:
      return "bringing the loopback interface up";
    case InitStage::host_name:
      return "setting the host name";
    case InitStage::leftover_process:
      return "emptying the world (a child of the harness in it was never reaped)";
    case InitStage::shm_unmount:
      return "unmounting /dev/shm";
    case InitStage::shm_mount:
      return "mounting a tmpfs on /dev/shm";
    case InitStage::folders:
      return "making the world's folders";
    case InitStage::ipc_namespace:
      return "making a new IPC namespace";
  }
  return "unknown";
}

void run_init(const InitConfig& config) {
  reset_signals();
  close_others(config.control);
  if (chdir("/") != 0) _exit(1);
  const InitReply ready = set_up(config);
  answer(config.control, ready);
  if (ready.stage != InitStage::none) _exit(1);
  // A harness that died before the death signal was set shows as end of file too.
  for (;;) {
    char command = 0;
    const ssize_t got = recv(config.control, &command, 1, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) _exit(0);
    answer(config.control, obey(command, config));
  }
}

}  // namespace halfsent
