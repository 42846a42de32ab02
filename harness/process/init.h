// PID 1 of a world: a fork of the harness that only waits for its commands.
#pragma once

#include <cstddef>
#include <cstdint>

namespace halfsent {

// What init was doing; init_stage_name names it for messages.
enum class InitStage : std::uint8_t {
  none,
  parent_death_signal,
  private_mounts,
  proc_mount,
  loopback,
  host_name,
  leftover_process,
  shm_unmount,
  shm_mount,
  folders,
  ipc_namespace,
};
const char* init_stage_name(InitStage stage);

// Init answers every command, and its own start, with one of these (a packet on the control socket).
struct InitReply {
  InitStage stage = InitStage::none;  // where it failed; none: it did not
  int errno_value = 0;
  bool pids_repeat = false;
  bool no_time_wait = false;
};

// Residents outlive a renewal: once one was announced, the processes with PIDs of InitConfig's range for them.
inline constexpr char kInitKill = 'k';      // SIGKILL to everybody else but residents
inline constexpr char kInitRenew = 'r';     // wait until nobody else but residents is left, then make the world as new
inline constexpr char kInitResident = 'n';  // the next process is a resident

struct InitConfig {
  int control = -1;  // SOCK_SEQPACKET; its end of file ends init, and the world with it
  std::size_t tmpfs_bytes = 0;
  int first_pid = 0;
  int first_resident_pid = 0;
  int residents = 0;  // how many PIDs are theirs
};

// Runs in the new namespaces, as PID 1. Allocates nothing.
[[noreturn]] void run_init(const InitConfig& config);

}  // namespace halfsent
