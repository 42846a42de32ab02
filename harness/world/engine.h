// The engine of one execution: it owns the world's processes, answers their system calls and moves the clock.
//
// Method: a thread of a worker stops in the kernel at every system call of the table. Calls without an effect are
// answered at once (clock, randomness) or held (waits); effects are parked. When no thread of the world runs any more,
// the controller looks at the ledger and at the downstream, records what happened, strikes with the faults that are
// due, and releases exactly one thing: one effect, or one wait that is over. When nothing can be released, time jumps
// to the nearest deadline.
//
// Everything that decides depends on the plan, the scenario and the history so far, never on real time.
//
// Internal to harness/world. Threads: one.
#pragma once

#include <linux/filter.h>

#include <deque>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "fakes/downstream.h"
#include "harness/core/error.h"
#include "harness/core/history.h"
#include "harness/core/plan.h"
#include "harness/intercept/syscall_table.h"
#include "harness/process/launch.h"
#include "harness/process/sandbox.h"
#include "harness/scenario/scenario.h"
#include "harness/world/actor_template.h"
#include "harness/world/execution.h"
#include "harness/world/ledger_probe.h"
#include "harness/world/network_barrier.h"
#include "harness/world/proc_fs.h"
#include "harness/world/ready_set.h"
#include "harness/world/tree.h"
#include "harness/world/virtual_clock.h"

namespace halfsent {

// A fault with the event it strikes at (no_seq: from the start).
struct ResolvedFault {
  int index = 0;  // in the plan
  Fault fault;
  Seq at = no_seq;
};

struct EngineSetup {
  const Scenario* scenario = nullptr;
  Sandbox* sandbox = nullptr;
  std::span<const sock_filter> filter;
  std::span<const ResolvedFault> faults = {};
  // Events that must come again, up to and including the last fault's.
  std::span<const Event> prefix = {};
  std::uint64_t seed = 1;
  Nanoseconds start_since_epoch{0};
  std::filesystem::path scratch;  // as the harness sees it
  int cpu = -1;
  std::chrono::milliseconds cpu_limit{10'000};
  bool probe = true;
  ActorTemplates* templates = nullptr;  // actors that are in it are forked, not started
};

class Engine {
 public:
  explicit Engine(const EngineSetup& setup);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // Runs to the end. Errors: divergence from the prefix, environment faults, scenario errors found at run time.
  Result<Execution> run();

  // Instead of run(), in a world that is thrown away afterwards.
  Result<std::optional<ActorTemplate>> make_template(const std::string& actor);

  // The error of run() came from a template: without templates it may run.
  [[nodiscard]] bool template_failed() const { return template_failed_; }

 private:
  // --- engine.cc: the loop
  Result<void> prepare();
  std::optional<Finished> finished();
  [[nodiscard]] bool all_settled() const;  // every row is delivered or flagged
  // When a settled world counts as drained: the quiet time after the last change and the end of what was planned.
  [[nodiscard]] Nanoseconds quiet_until() const;
  void disturbed_until(Nanoseconds when) { disturbed_until_ = std::max(disturbed_until_, when); }
  void end_world(const Finished& how);
  void fail(Error error);                                // the first error wins; the loop ends
  void give_up(std::string reason, std::string detail);  // the run cannot be judged

  // --- record.cc: the history
  void record(const Actor* actor, int incarnation, int process, EventBody body);
  void record(const Process& process, EventBody body) {
    record(process.actor, process.incarnation, process.index, std::move(body));
  }

  // --- actors.cc: processes come and go
  void start(Actor& actor);
  Result<Launched> launch_actor(const Actor& actor);
  void start_due_actors();
  Process& add_process(Actor& actor, pid_t pid, pid_t world_pid, Process* parent, int incarnation);
  Thread& add_thread(Process& process, pid_t tid);
  void find_new_tasks(Process& process);
  Thread* find_thread(pid_t tid);
  Thread* adopt_unknown(const Process& listener_root, pid_t tid);
  void watch(Process& process);
  void on_death(Process& process);
  void kill_process(Process& process);
  void wait_for_deaths();
  void collect_output(Actor& actor);
  [[nodiscard]] bool is_alive(const Actor& actor) const { return actor.root != nullptr && !actor.root->dead; }

  // --- actor_template.cc: incarnations that are forked
  [[nodiscard]] std::optional<std::string> template_path(Thread& thread, const SyscallRule& rule) const;
  [[nodiscard]] bool template_may_look_at(Thread& thread, const SyscallRule& rule);
  [[nodiscard]] bool is_of_world(const Process& process) const;
  [[nodiscard]] bool interpreter_starts(const Process& process) const;
  [[nodiscard]] bool ends_template(Thread& thread, const SyscallRule& rule);
  [[nodiscard]] const ActorTemplate* template_of(const Actor& actor) const;
  Result<Launched> fork_from_template(Actor& actor);
  void join_template(Process& root);
  void give_output(Thread& thread);
  void note_change(const Effect& effect, Treatment treatment);

  // --- settle.cc: until nobody runs
  void settle();
  [[nodiscard]] bool anybody_runs();
  [[nodiscard]] bool others_run(const Process& process) const;
  void look_at_sleepers(bool first_look);
  [[nodiscard]] bool look_at(Thread& thread, bool first_look);  // true: the table of threads may have changed
  bool handle_deferred();                                       // false: there is nothing
  void check_signals();
  void check_signals(Process& process);
  void wait_for_doomed();
  [[nodiscard]] bool is_doomed(const Thread& thread) const;
  void forget_thread(Thread& thread);
  void set_state(Thread& thread, Thread::State state);
  void drain_downstream();

  // --- observe.cc: what the last step did
  void observe();
  void observe_deaths();
  void observe_end_of(Process& process);
  [[nodiscard]] Nanoseconds supervised_delay(Actor& actor) const;
  void observe_first_rows();
  void observe_ledger(LedgerProbe::Since since);
  void doubt_ledger(LedgerProbe::Since since) { ledger_doubt_ = std::max(ledger_doubt_, {since}); }
  void observe_live_rows(LedgerProbe::Since since);
  void observe_cold_rows();
  void observe_stops();
  bool observe_downstream();  // true: somebody has run on
  [[nodiscard]] bool more_is_on_its_way() const;
  void serve(const Arrival& arrival);
  void accept_and_answer(RequestId id);
  [[nodiscard]] bool serve_fault(RequestId id, bool accepted);  // true: the request is taken care of
  void answer_request(RequestId id, Answer how);
  void answer_due_requests();
  [[nodiscard]] bool may_write_unseen(const Process& process) const;
  void note_lock(Process& process, const LockAttempt& attempt);
  [[nodiscard]] bool holds_ledger_lock(const Process& process);
  [[nodiscard]] bool holds_transaction_lock(Process& process);

  // --- schedule.cc: who goes next
  bool release_next();  // false: nobody can run
  bool release_by_turn();
  bool release_one_of(Actor& actor);
  bool release(Thread& thread);  // false: it cannot go on yet
  [[nodiscard]] bool is_ready(Thread& thread);
  [[nodiscard]] bool any_descriptor_ready(const Thread& thread) const;
  [[nodiscard]] bool child_has_ended(const Thread& thread) const;
  [[nodiscard]] bool posix_lock_is_free(const Thread& thread) const;
  [[nodiscard]] pid_t posix_lock_owner(const Thread& thread) const;  // 0: nobody else
  [[nodiscard]] bool closes_lock_cycle(const Thread& thread) const;
  [[nodiscard]] bool take_lock_for(const Thread& thread) const;
  void release_holds();
  bool advance_time();  // false: there is no deadline
  [[nodiscard]] std::optional<Nanoseconds> nearest_deadline() const;
  void release_effect(Thread& thread);
  void write_to_pipe(Thread& thread);
  void widen(int socket) const;
  void end_wait(Thread& thread);
  void time_out(Thread& thread);
  bool fire_timers();  // false: none was due
  void send_signal(const Process& process, const VirtualTimer& timer);
  [[nodiscard]] std::string wait_graph() const;
  [[nodiscard]] std::string lock_holders(const Thread& thread) const;
  [[nodiscard]] std::string pipe_holders(const Thread& thread) const;

  // --- strike.cc: faults
  void strike(Seq seq);
  void strike(const ResolvedFault& fault, Seq seq);
  void apply_standing_faults();
  void apply_to_actor(const Fault& fault, Actor& actor, const std::vector<Process*>& victims);
  [[nodiscard]] std::vector<Process*> victims_of(const Fault& fault, Actor& actor, Seq seq) const;

  // --- ledger_faults.cc: faults of the ledger
  void apply_to_ledger(const Fault& fault);
  void fail_over(int lost);
  void keep_ledger();                         // as it is now, for a failover
  [[nodiscard]] int refusal(Thread& thread);  // the errno that a fault gives to an effect; 0: none
  [[nodiscard]] bool is_busy(const Effect& effect) const;
  [[nodiscard]] bool is_read_only() const { return read_only_until_ && clock_.now() < *read_only_until_; }

  // --- handlers*.cc: one system call
  void on_notification(Process& root);
  void handle_in_turn(Thread& thread);
  void handle(Thread& thread);
  void handle_write(Thread& thread, const SyscallRule& rule);
  void handle_send(Thread& thread, const SyscallRule& rule);
  void handle_connect(Thread& thread);
  void handle_file_sync(Thread& thread, const SyscallRule& rule);
  void handle_path_effect(Thread& thread, const SyscallRule& rule);
  void handle_open(Thread& thread, const SyscallRule& rule);
  void handle_look_up(Thread& thread, const SyscallRule& rule);
  void handle_lock(Thread& thread, const SyscallRule& rule);
  void handle_clock(Thread& thread);
  void handle_sleep(Thread& thread);
  void handle_wait_fds(Thread& thread);
  void handle_read(Thread& thread, const SyscallRule& rule);
  void handle_futex(Thread& thread);
  void handle_wait_child(Thread& thread);
  void handle_wait_signal(Thread& thread);
  void handle_timer(Thread& thread);
  void handle_posix_timer(Thread& thread);
  void handle_random(Thread& thread);
  void handle_fork(Thread& thread);
  void handle_image(Thread& thread);
  void handle_thread_exit(Thread& thread);
  void handle_process_exit(Thread& thread);
  void handle_shared_objects(Thread& thread);
  void handle_unsupported(Thread& thread, const SyscallRule& rule);
  void yield_turn(Thread& thread);
  void park(Thread& thread, Effect effect);
  void hold(Thread& thread, Wait wait);
  void go_on(Thread& thread);                                     // the kernel runs the call
  void reply(Thread& thread, std::int64_t value, int error = 0);  // we have
  [[nodiscard]] bool announced(Thread& thread, const std::string& path);
  [[nodiscard]] std::string world_path(Thread& thread, int folder_fd, const std::string& path) const;
  [[nodiscard]] std::string watched_name(const std::string& absolute) const;  // empty: not of the world
  [[nodiscard]] std::string target_of(Process& process, int fd) const;
  [[nodiscard]] std::string locked_file(Process& process, int fd) const;  // its watched name
  [[nodiscard]] UniqueFd duplicate(const Process& process, int fd) const;
  [[nodiscard]] std::string draw(Process& process, std::size_t bytes) const;  // the next random bytes of the process
  [[nodiscard]] VirtualTimer& timer_of(Process& process, int id);
  [[nodiscard]] Nanoseconds wall_clock(const Actor& actor) const { return clock_.since_epoch() + actor.skew; }

  // Connections of workers to the downstream, by the worker's port.
  struct Connection {
    Process* process = nullptr;
    Actor* actor = nullptr;
    int incarnation = 0;
    int process_index = 0;
    int fd = -1;              // the worker's
    Seq first_send = no_seq;  // of the request that is being sent
  };
  // What a request is for, and whose.
  struct Request {
    Arrival arrival;
    Connection from;
  };
  struct LateAnswer {
    Nanoseconds due;
    RequestId id;
    Answer how;
    bool accept_first = false;
  };

  EngineSetup setup_;
  const Scenario& scenario_;
  Sandbox& sandbox_;
  std::unique_ptr<ReadySet> ready_;
  VirtualClock clock_;
  History history_;
  Execution result_;
  std::optional<Error> error_;
  std::optional<Finished> gave_up_;

  std::vector<std::unique_ptr<Actor>> actors_;
  std::map<pid_t, Thread*> threads_;
  int running_ = 0;
  std::size_t turn_ = 0;         // index of the actor that is asked first
  Actor* last_actor_ = nullptr;  // whose step it was
  int last_incarnation_ = 0;
  int last_process_ = 0;
  Process* turn_process_ = nullptr;  // whose calls are answered as they come
  bool signals_possible_ = false;
  std::vector<Process*> deaths_;  // not recorded yet

  std::unique_ptr<LedgerProbe> probe_;
  // What may have happened to the ledger since the last look; none: nothing.
  std::optional<LedgerProbe::Since> ledger_doubt_ = LedgerProbe::Since::created_or_removed;
  std::vector<LedgerRow> rows_;
  std::optional<std::vector<LedgerRow>> cold_rows_;  // last reported as different; none: the views are the same
  Nanoseconds last_change_{0};
  int advances_ = 0;                // of the clock
  int names_ = 0;                   // how often names of files may have changed
  Nanoseconds disturbed_until_{0};  // by faults that last, and until those come back whom the plan has killed
  std::optional<Nanoseconds> busy_until_;
  std::optional<Nanoseconds> read_only_until_;
  std::deque<std::vector<char>> kept_ledgers_;  // what was committed, the newest last: as many as a failover may need

  std::unique_ptr<Downstream> downstream_;
  std::unique_ptr<NetworkBarrier> barrier_;
  bool network_dirty_ = false;
  std::deque<Arrival> arrivals_;
  std::vector<BadInput> bad_input_;
  std::map<std::uint16_t, Connection> connections_;
  std::map<RequestId, Request> requests_;
  std::map<std::string, int> attempts_;  // requests seen per key
  std::map<std::string, std::string>
      last_sender_;  // per key: actor/incarnation of its last request, cleared by a claim
  std::vector<LateAnswer> late_;

  // A downstream fault that struck at the request being served.
  const Fault* request_fault_ = nullptr;
  std::set<std::string> outside_;  // paths opened for writing outside the world

  // While a template is made.
  struct TemplateWatch {
    bool reached = false;          // the call that ends it
    std::set<std::string> opened;  // files of the world
    std::set<std::string> looked_at;
  };
  std::optional<TemplateWatch> template_watch_;
  bool templates_stale_ = false;
  bool template_failed_ = false;
};

}  // namespace halfsent
