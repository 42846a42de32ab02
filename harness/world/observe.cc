// What the last step did: deaths, the ledger, new stops, the downstream. In this order, always.
#include <signal.h>

#include <algorithm>
#include <cmath>

#include "harness/world/engine.h"
#include "harness/world/proc_fs.h"

namespace halfsent {
namespace {

Nanoseconds relative_lease(const LedgerRow& row, Nanoseconds start_since_epoch) {
  if (!row.lease_until) return Nanoseconds{-1};
  const double seconds = *row.lease_until - std::chrono::duration<double>(start_since_epoch).count();
  if (!(seconds >= 0 && seconds < 4e9)) return Nanoseconds{-1};
  return std::chrono::milliseconds{std::llround(seconds * 1000)};
}

// 0: before the world began.
Nanoseconds relative_due(const LedgerRow& row, Nanoseconds start_since_epoch) {
  if (!row.due_at) return Nanoseconds{-1};
  const double seconds = *row.due_at - std::chrono::duration<double>(start_since_epoch).count();
  return std::chrono::milliseconds{std::llround(std::clamp(seconds, 0.0, 4e9) * 1000)};
}

using MaybeRow = std::optional<LedgerRow>;

// Rows that differ, by key: what the key's row is in the one and in the other.
std::map<std::string, std::pair<MaybeRow, MaybeRow>> differences_between(const std::vector<LedgerRow>& one,
                                                                         const std::vector<LedgerRow>& other) {
  std::map<std::string, std::pair<MaybeRow, MaybeRow>> rows;
  for (const LedgerRow& row : one) rows[row.key].first = row;
  for (const LedgerRow& row : other) rows[row.key].second = row;
  std::erase_if(rows, [](const auto& entry) { return entry.second.first == entry.second.second; });
  return rows;
}

JobState state_of(const MaybeRow& row) { return row ? row->state : JobState::none; }

}  // namespace

void Engine::observe() {
  do {
    observe_deaths();
    if (error_ || gave_up_) return;
    const auto doubt = std::exchange(ledger_doubt_, std::nullopt);
    if (setup_.probe && doubt) observe_ledger(*doubt);
    observe_stops();
  } while (observe_downstream());
}

void Engine::observe_deaths() {
  std::vector<Process*> dead = std::exchange(deaths_, {});
  // The kernel tells of several deaths in any order.
  std::sort(dead.begin(), dead.end(), [](const Process* a, const Process* b) {
    return std::tie(a->actor->name, a->incarnation, a->index) < std::tie(b->actor->name, b->incarnation, b->index);
  });
  for (Process* process : dead) observe_end_of(*process);
}

// As supervisors do: one that ends again and again is left alone for longer and longer.
Nanoseconds Engine::supervised_delay(Actor& actor) const {
  constexpr std::chrono::seconds shortest{1};
  constexpr std::chrono::seconds longest{32};
  constexpr std::chrono::minutes healthy{1};
  const bool lived = clock_.now() - actor.started_at >= healthy;
  actor.supervised_delay = lived || actor.supervised_delay.count() == 0
                               ? shortest
                               : std::min<Nanoseconds>(actor.supervised_delay * 2, longest);
  return actor.supervised_delay;
}

void Engine::observe_end_of(Process& process) {
  if (process.end_recorded) return;
  process.end_recorded = true;
  Actor& actor = *process.actor;
  Ended ended;
  if (process.death) {
    ended.how = process.death->kind == Death::Kind::signaled ? Ended::How::signalled : Ended::How::exited;
    ended.code = process.death->value;
  } else if (process.exit_code) {
    ended.code = *process.exit_code;
  } else {
    ended.how = Ended::How::signalled;  // by which one only its parent knows, and it may have none
    ended.code = process.kill_sent ? SIGKILL : 0;
  }
  if (process.killed_by_plan) ended.how = Ended::How::killed_by_plan;
  record(process, ended);
  if (&process != actor.root) return;
  if (!process.killed_by_plan) {
    if (actor.config->on_exit == ActorConfig::OnExit::restart) {
      actor.restart_at = clock_.now() + supervised_delay(actor);
    } else {
      actor.finished = true;
    }
    return;
  }
  actor.held_until.reset();
  switch (actor.restart) {
    case RestartMode::after:
      actor.restart_at = clock_.now() + actor.restart_delay;
      disturbed_until(*actor.restart_at);
      break;
    case RestartMode::never:
      actor.finished = true;
      break;
    case RestartMode::while_peer_lives:
      actor.restart_when_alone = true;
      break;
  }
}

// Before anybody has done anything there is nobody to blame for two rows of one key: the scenario is wrong.
void Engine::observe_first_rows() {
  observe_ledger(LedgerProbe::Since::created_or_removed);
  const auto twice = std::find_if(rows_.begin(), rows_.end(), [](const LedgerRow& row) { return row.rows > 1; });
  if (twice == rows_.end()) return;
  fail(
      Error{.code = ExitCode::usage,
            .message = "the rows query gives the key " + quote_key(twice->key) + " " + std::to_string(twice->rows) +
                       " times before anybody has run",
            .mend = "rows of [ledger] must return each job once: a GROUP BY sees to it, or setup inserts a job twice"});
}

void Engine::observe_ledger(LedgerProbe::Since since) {
  observe_live_rows(since);
  if (!error_) observe_cold_rows();
}

void Engine::observe_live_rows(LedgerProbe::Since since) {
  const Result<bool> changed = probe_->changed(since);
  if (!changed) return fail(changed.error());
  if (!*changed) return;
  Result<std::vector<LedgerRow>> live = probe_->live();
  if (!live) return fail(live.error());
  keep_ledger();
  const auto differences = differences_between(rows_, *live);
  rows_ = std::move(*live);
  for (const auto& [key, difference] : differences) {
    const auto& [before, now] = difference;
    LedgerChanged change{.key = key, .from = state_of(before), .to = state_of(now)};
    if (now) {
      change.raw_state = now->raw_state;
      change.attempts = now->attempts;
      change.lease_until = relative_lease(*now, clock_.start_since_epoch());
      change.token = now->token;
      change.owner = now->owner;
      change.slot = now->slot;
      change.cohort = now->cohort;
      change.authority = now->authority;
      change.due_at = relative_due(*now, clock_.start_since_epoch());
      change.rows = now->rows;
    }
    if (change.to == JobState::leased) last_sender_.erase(key);
    last_change_ = clock_.now();
    record(last_actor_, last_incarnation_, last_process_, std::move(change));
  }
}

void Engine::observe_cold_rows() {
  const Result<std::optional<std::vector<LedgerRow>>> cold = probe_->cold();
  if (!cold) return fail(cold.error());
  if (*cold == cold_rows_) return;
  cold_rows_ = *cold;
  if (!cold_rows_) return;
  for (const auto& [key, difference] : differences_between(rows_, *cold_rows_))
    record(last_actor_, last_incarnation_, last_process_,
           CommitUncertain{.key = key, .live = state_of(difference.first), .cold = state_of(difference.second)});
}

// Called before the kernel decides: a lock is only possibly held, one that is given back is not.
void Engine::note_lock(Process& process, const LockAttempt& attempt) {
  if (!probe_->is_transaction_lock(attempt.file, attempt.start, attempt.length)) return;
  std::erase_if(process.ledger_locks, [&](const LockAttempt& other) {
    const std::int64_t end = attempt.start + attempt.length;
    const bool covered = attempt.start <= other.start &&
                         (attempt.length == 0 || (other.length != 0 && other.start + other.length <= end));
    return other.file == attempt.file && covered;
  });
  if (attempt.kind != LockAttempt::Kind::unlock) process.ledger_locks.push_back(attempt);
}

// By stores to memory, which are no stops.
bool Engine::may_write_unseen(const Process& process) const {
  return std::any_of(process.ledger_locks.begin(), process.ledger_locks.end(), [&](const LockAttempt& lock) {
    return lock.kind == LockAttempt::Kind::exclusive && probe_->guards_changes(lock.file, lock.start, lock.length);
  });
}

bool Engine::holds_ledger_lock(const Process& process) {
  bool any = false;
  for (const auto& other : process.actor->processes)
    any = any || (!other->dead && !other->ledger_locks.empty() && holds_transaction_lock(*other));
  return any;
}

bool Engine::holds_transaction_lock(Process& process) {
  std::set<int> asked;  // any descriptor of a file shows all locks that the process has on it
  for (const LockAttempt& attempt : process.ledger_locks) {
    const pid_t holder = probe_->lock_holder(attempt.file, attempt.start, attempt.length);
    if (holder == process.pid) return true;
    if (holder == 0 || !asked.insert(attempt.fd).second) continue;
    for (const FileLock& lock : list_locks(process.pid, attempt.fd))
      if (lock.posix && probe_->is_transaction_lock(attempt.file, lock.start, lock.length)) return true;
  }
  process.ledger_locks.clear();  // refused, or dropped by a close
  return false;
}

void Engine::observe_stops() {
  std::vector<pid_t> fresh;  // by number: a strike may end any of them
  for (auto& actor : actors_)
    for (auto& process : actor->processes)
      for (auto& thread : process->threads)
        if (!thread->recorded && (thread->state == Thread::State::parked || thread->state == Thread::State::held))
          fresh.push_back(thread->tid);
  for (const pid_t tid : fresh) {
    Thread* thread = find_thread(tid);
    if (thread == nullptr || error_) continue;
    thread->recorded = true;
    if (thread->effect) {
      Effect& effect = *thread->effect;
      effect.stop.holds_ledger_lock = holds_ledger_lock(*thread->process);
      effect.seq = history_.events.size();
      record(*thread->process, effect.stop);
    } else if (thread->wait && thread->wait->kind != Wait::Kind::futex) {
      // Which of its threads waits for which other one is the business of a program, and the kernel's order.
      const SyscallRule* rule = find_rule(thread->notification.data.nr);
      record(
          *thread->process,
          Waiting{.call = std::string(rule->name), .object = thread->wait->object, .deadline = thread->wait->deadline});
    }
  }
}

}  // namespace halfsent
