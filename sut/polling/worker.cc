#include "worker.h"

#include <unistd.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "defect.h"
#include "log.h"
#include "seeded_recovery.h"

namespace reference {

Worker::Worker(std::string name, Database& db, Url url, const Terms& terms)
    : name_(holder_name(db, name)),
      db_(db),
      terms_(terms),
      leases_(db, name_, terms),
      recovery_(db, name_, terms),
      url_(std::move(url)) {}

void Worker::run() {
  start_wrongly(db_, terms_);
  while (true) {
    if (!work_once()) ::sleep(static_cast<unsigned>(terms_.poll_s));
  }
}

bool Worker::work_once() {
  try {
    recover();
    if (!renewed_.empty()) renew_for_ever();
    std::optional<Job> job = leases_.claim();
    return job && work_on(*job);
  } catch (const SQLite::Exception& error) {
    if (!passes(error)) throw;
    log(name_, std::string("the ledger is in trouble, trying again later: ") + error.what());
    return false;
  }
}

// The heartbeat of a job that is done.
void Worker::renew_for_ever() {
  Query renew = db_.query("UPDATE digest_jobs SET lease_until = unixepoch() + :lease WHERE digest_key = :key");
  renew.with(":lease", terms_.lease_s).with(":key", renewed_).change();
}

void Worker::recover() {
  if (has_any({Defect::slow_sweep, Defect::lazy_sweep})) {
    const Seconds period_s = has(Defect::slow_sweep) ? 3600 : 300;
    const Seconds now = leases_.now();
    if (swept_at_ != 0 && now - swept_at_ < period_s) return;
    swept_at_ = now;
  }
  recovery_.sweep();
}

bool Worker::work_on(Job& job) {
  if (has(Defect::marks_at_end_of_batch)) return work_on_batch(job);
  if (!take_time(job, terms_.render_s) || !leases_.record_intent(job)) {
    not_sent(job);
    return true;
  }
  if (has(Defect::mark_before_send)) settle_surely(job, {Outcome::accepted, {}});
  const Answer answer = send_and_tell(job);
  if (answer.outcome == Outcome::accepted) take_time(job, terms_.archive_s);
  if (answer.outcome == Outcome::accepted && has(Defect::never_marks)) return true;
  if (!has(Defect::mark_before_send)) settle_surely(job, answer);
  if (has(Defect::sleeps_after_doubt) && answer.outcome != Outcome::accepted) ::sleep(300);
  if (has(Defect::renews_for_ever)) renewed_ = job.digest_key;
  return true;
}

// Nothing was sent, and the job is in other hands: there is nothing to undo.
void Worker::not_sent(const Job& job) {
  log(name_, shown(job.digest_key) + " is not sent: the lease was lost");
  if (!has(Defect::unlock_by_key)) return;
  Query unlock = db_.query(
      "UPDATE digest_jobs SET state = 'pending', owner = NULL, lease_until = NULL"
      " WHERE digest_key = :key AND state = 'leased'");
  unlock.with(":key", job.digest_key).change();
}

Answer Worker::send_and_tell(const Job& job) {
  Answer answer = send(url_, job, terms_.send_timeout_s);
  if (answer.outcome != Outcome::accepted) {
    log(name_, std::string(name_of(answer.outcome)) + " about " + shown(job.digest_key) + ": " + answer.reason);
  }
  return answer;
}

// Rendering a digest takes its time, and so does keeping a copy. What outlives the lease is kept by the heartbeat.
bool Worker::take_time(Job& job, Seconds seconds) {
  for (Seconds left = seconds; left > 0;) {
    const Seconds step = std::min(left, terms_.lease_s / 4);
    ::sleep(static_cast<unsigned>(step));
    left -= step;
    if (!leases_.keep(job)) return false;
  }
  return true;
}

// All that is there, and then the ledger once: fewer writes.
bool Worker::work_on_batch(const Job& first) {
  constexpr std::size_t batch = 3;
  std::vector<std::pair<Job, Answer>> done = {{first, {}}};
  while (done.size() < batch) {
    std::optional<Job> next = leases_.claim();
    if (!next) break;
    done.emplace_back(std::move(*next), Answer{});
  }
  for (auto& [job, answer] : done) answer = send_and_tell(job);
  for (const auto& [job, answer] : done) settle_surely(job, answer);
  return true;
}

// Settles, again and again while the ledger is in trouble, until the lease is over and others decide. Also after a
// commit whose answer was lost: the token refuses the second one.
void Worker::settle_surely(const Job& job, const Answer& said) {
  Answer answer = said;
  Job held = job;
  const std::string what = std::string(name_of(answer.outcome)) + " of " + shown(job.digest_key);
  while (true) {
    try {
      if (!leases_.settle(held, answer)) {
        log(name_, what + " not written: its state is " + leases_.describe(job) + " of " + std::to_string(job.token));
      }
      return;
    } catch (const SQLite::Exception& error) {
      if (!passes(error)) throw;
      log(name_, what + " not written yet: " + error.what());
    }
    if (leases_.now() >= job.lease_until) return;
    if (has(Defect::mark_error_is_failure)) answer = {Outcome::definite_no, "it could not be marked"};
    if (has(Defect::mark_error_gives_up)) {
      answer = {Outcome::definite_no, "it could not be marked"};
      held.attempt = terms_.max_attempts;
    }
    // The thread is gone; the process looks alive.
    while (has(Defect::mark_error_ends_loop)) ::sleep(static_cast<unsigned>(terms_.lease_s));
    ::sleep(1);
  }
}

}  // namespace reference
