// What /proc tells about the world's processes, seen from the harness. All functions return empty or nullopt for a
// process that is gone. No state. Threads: any.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/process/unique_fd.h"

namespace halfsent {

struct ProcStatus {
  pid_t process = 0;  // thread group, as the harness sees it
  pid_t parent = 0;
  pid_t world_process = 0;  // thread group in the innermost PID namespace
  pid_t world_thread = 0;
  std::uint64_t pending_thread = 0;
  std::uint64_t pending_process = 0;
  std::uint64_t blocked = 0;
  std::uint64_t ignored = 0;
  std::uint64_t caught = 0;
};
std::optional<ProcStatus> read_status(pid_t tid);

// State letter of a thread and the CPU time it has used, in clock ticks.
struct ProcStat {
  char state = '?';
  std::uint64_t cpu_ticks = 0;
};
std::optional<ProcStat> read_stat(pid_t process, pid_t tid);

// Whether the thread is on its way although its state letter may say that it sleeps: the kernel sets the state before
// it looks whether there is anything to wait for (wait4 even while it reaps), and may take the processor away in
// between. Waits until the thread has gone to sleep or on. False also where the kernel does not tell.
bool is_on_its_way(pid_t process, pid_t tid);

// Of a zombie, as wait4 would report it.
std::optional<int> read_wait_status(pid_t process);

std::vector<pid_t> list_threads(pid_t process);   // ascending
std::vector<pid_t> list_children(pid_t process);  // of all its threads, ascending

// What descriptor `fd` of the process refers to: "socket:[1]", "pipe:[2]", a path; empty when closed.
std::string descriptor_target(pid_t process, int fd);
// The same for those who ask often. Invalid when the process is gone.
UniqueFd open_descriptor_folder(pid_t process);
std::string descriptor_target(const UniqueFd& descriptor_folder, int fd);
std::string working_directory(pid_t process);
std::string program_of(pid_t process);  // what it executes

struct FileLock {
  std::uint64_t inode = 0;
  std::int64_t start = 0;
  std::int64_t length = 0;  // 0: to the end of the file
  bool posix = true;        // else of the open file: flock, OFD
};
// Locks on the file that descriptor `fd` refers to: those of the process, and those held through the descriptor.
std::vector<FileLock> list_locks(pid_t process, int fd);

struct Descriptor {
  int number = 0;
  std::string target;  // as descriptor_target()
  bool writes = false;
  bool reads = false;
  std::vector<FileLock> locks;  // as list_locks()
};
std::vector<Descriptor> list_descriptors(pid_t process);  // ascending

}  // namespace halfsent
