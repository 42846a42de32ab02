#include "worker.h"

#include <unistd.h>

#include <optional>
#include <utility>

#include "defect.h"
#include "log.h"

namespace reference {

Worker::Worker(std::string name, Database& db, Url url, const Terms& terms)
    : name_(std::move(name)), terms_(terms), leases_(db, name_, terms), recovery_(db, terms), url_(std::move(url)) {}

void Worker::run() {
  while (true) {
    if (!work_once()) ::sleep(static_cast<unsigned>(terms_.poll_s));
  }
}

bool Worker::work_once() {
  try {
    recovery_.sweep();
    std::optional<Job> job = leases_.claim();
    return job && work_on(*job);
  } catch (const SQLite::Exception& error) {
    if (!passes(error)) throw;
    log(name_, std::string("the ledger is in trouble, trying again later: ") + error.what());
    return false;
  }
}

bool Worker::work_on(Job& job) {
  if (!render(job) || !leases_.record_intent(job)) {
    log(name_, shown(job.digest_key) + " is not sent: the lease was lost");
    return true;
  }
  const Answer answer = send(url_, job, terms_.send_timeout_s);
  if (answer.outcome != Outcome::accepted) {
    log(name_, std::string(name_of(answer.outcome)) + " about " + shown(job.digest_key) + ": " + answer.reason);
  }
  settle_surely(job, answer);
  return true;
}

// Rendering a digest takes its time, page by page. A long one outlives the lease, but for the heartbeat.
bool Worker::render(Job& job) {
  for (int page = 0; page < terms_.render_pages; ++page) {
    ::sleep(static_cast<unsigned>(terms_.render_s));
    if (!leases_.keep(job)) return false;
  }
  return true;
}

// Settles, again and again while the ledger is in trouble, until the lease is over and others decide. Also after a
// commit whose answer was lost: the token refuses the second one.
void Worker::settle_surely(const Job& job, const Answer& answer) {
  const std::string what = std::string(name_of(answer.outcome)) + " of " + shown(job.digest_key);
  while (true) {
    try {
      if (!leases_.settle(job, answer)) {
        log(name_, what + " not written: its state is " + leases_.describe(job) + " of " + std::to_string(job.token));
      }
      return;
    } catch (const SQLite::Exception& error) {
      if (!passes(error)) throw;
      log(name_, what + " not written yet: " + error.what());
    }
    if (leases_.now() >= job.lease_until) return;
    ::sleep(1);
  }
}

}  // namespace reference
