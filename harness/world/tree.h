// The processes of the world as the controller knows them: actors, their process trees, their threads.
// Plain data with owners; the engine keeps the rules. Threads: one (the harness's).
#pragma once

#include <linux/seccomp.h>
#include <poll.h>
#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/core/event.h"
#include "harness/core/plan.h"
#include "harness/process/death.h"
#include "harness/process/unique_fd.h"
#include "harness/scenario/scenario.h"

namespace halfsent {

struct Process;
struct Actor;
struct ResolvedFault;  // engine.h

// What a held thread waits for.
struct Wait {
  enum class Kind {
    sleep,             // the deadline only
    descriptors,       // poll, select, epoll, reads, writes to pipes: any of `fds`
    futex,             // a wake-up, or a changed word at `address`
    child,             // the end of a child (`child`: pid in the world, -1 any)
    posix_lock,        // fcntl: nobody else holds a conflicting lock
    description_lock,  // flock and OFD locks: taken by us on the worker's descriptor
    signal,            // a signal that is not blocked by `signal_mask`
  };
  Kind kind = Kind::sleep;
  Nanoseconds deadline{-1};  // virtual time since start; negative: none
  std::vector<pollfd> fds{};
  std::uint64_t address = 0;
  std::uint32_t word = 0;
  bool is_private = false;
  bool woken = false;
  int child = -1;
  std::optional<std::uint64_t> signal_mask{};  // the mask while waiting, when the call brings its own
  std::uint64_t wanted_signals = 0;            // rt_sigtimedwait: these end the wait although blocked
  std::string object{};                        // for the history
};

// A POSIX lock on a file of the ledger, or the giving back of one.
struct LockAttempt {
  std::string file;  // relative to the world's working folder
  int fd = -1;       // the worker's
  enum class Kind { unlock, shared, exclusive } kind = Kind::shared;
  std::int64_t start = 0;
  std::int64_t length = 0;  // 0: to the end of the file
};

// A file of the ledger whose locks a process takes again and again, and how to know it again: `copy` is the worker's
// open file, which the worker's descriptor still leads to if the kernel says that the two are one. Of files that are
// locked by fcntl only, since a copy would keep any other lock.
struct LockedFile {
  UniqueFd copy;
  int fd = -1;       // the worker's
  std::string name;  // relative to the world's working folder
  int names = -1;    // Engine::names_ when it had this name
};

// An effect that has not happened yet.
struct Effect {
  Stopped stop;
  std::uint16_t local_port = 0;  // sends and connects to the downstream: the worker's end (0: not known yet)
  bool to_downstream = false;
  bool is_connect = false;
  bool is_network = false;  // on a socket
  int fd = -1;
  std::optional<LockAttempt> lock{};
  std::uint64_t done = 0;  // bytes of a large write to a pipe that we have written already
  Seq seq = no_seq;        // its Stopped event
};

struct Thread {
  enum class State {
    running,    // in the worker's own code, or in a call that we let continue
    pending,    // stopped; not looked at yet, because it is not its process's turn
    parked,     // stopped at an effect
    held,       // stopped in a wait
    in_kernel,  // asleep in a call of its own that we let continue
    in_vfork,   // suspended until its child has a program of its own
  };
  pid_t tid = 0;
  Process* process = nullptr;
  State state = State::running;
  seccomp_notif notification{};  // valid while pending, parked or held
  std::optional<Wait> wait{};
  std::optional<Effect> effect{};
  bool recorded = false;             // the stop or wait is in the history
  bool has_forked = false;           // look for new children at its next stop
  bool vforks = false;               // its last call was a vfork
  bool signal_waits = false;         // a signal may be pending for it
  std::uint64_t cpu_ticks_mark = 0;  // CPU time soon after its last stop, for the watchdog; 0: not looked at since
};

// A timer of a process (alarm, setitimer, timer_create), kept by us.
struct VirtualTimer {
  int id = 0;                // negative: ITIMER_REAL
  Nanoseconds deadline{-1};  // negative: not armed
  Nanoseconds interval{0};
  int signal = 0;           // 0: notifies nobody
  std::uint64_t value = 0;  // sigev_value
  pid_t thread = 0;         // SIGEV_THREAD_ID: thread in the world, 0: the process
};

struct Process {
  pid_t pid = 0;              // as the harness sees it
  pid_t world_pid = 0;        // as the world sees it
  Process* parent = nullptr;  // within the actor's tree
  Actor* actor = nullptr;
  int incarnation = 1;
  int index = 0;  // creation order in its incarnation
  bool is_root = false;
  bool dead = false;
  bool reaped = false;
  bool killed_by_plan = false;  // its end is the doing of a fault
  bool kill_sent = false;       // its end is certain
  bool end_recorded = false;
  std::optional<Death> death{};  // others than roots are reaped by their parents: empty when we cannot know
  UniqueFd pidfd;
  UniqueFd descriptor_folder;                // once it has been asked for
  std::shared_ptr<const UniqueFd> listener;  // of the filter, which the whole tree of an incarnation shares
  std::vector<std::unique_ptr<Thread>> threads;
  std::vector<VirtualTimer> timers;
  std::uint64_t random_calls = 0;
  LockedFile locked_file;
  std::vector<LockAttempt> ledger_locks;  // those that it may hold: whether it was given them only the kernel knows
  std::optional<int> exit_code{};         // what it has told exit_group
  bool is_forked = false;                 // it, or its root, comes from a template, whose listener it shares
  bool wants_output = false;              // forked and not given its own output yet
  int calls_in_turn = 0;                  // answered since it was released
  int spins = 0;        // turns that it has given up for having made too many calls, one after another
  bool yields = false;  // the others of its actor come first
};

struct Actor {
  std::string name;
  const ActorConfig* config = nullptr;
  int incarnation = 0;
  std::vector<std::unique_ptr<Process>> processes;  // of all incarnations that still have some, in creation order
  int next_index = 0;
  Process* root = nullptr;     // of the current incarnation; nullptr: not running
  Process* current = nullptr;  // whose turn it is within the actor
  std::optional<Nanoseconds> held_until{};
  std::optional<Nanoseconds> restart_at{};
  Nanoseconds started_at{0};
  Nanoseconds supervised_delay{0};  // the last one
  bool restart_when_alone = false;
  bool finished = false;  // ended by itself and stays away
  Nanoseconds restart_delay{0};
  RestartMode restart = RestartMode::after;
  Nanoseconds skew{0};
  bool refused = false;  // connects are refused
  std::optional<Nanoseconds> refused_until{};
  bool switched = false;                    // stands back until nobody else can go on
  const ResolvedFault* io_error = nullptr;  // hits its next change of a ledger file
  bool watches_template = false;            // the listener of its template is waited for
  int output_fd = -1;                       // memfd of the current incarnation, owned by the engine
};

}  // namespace halfsent
