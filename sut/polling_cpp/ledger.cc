#include "ledger.h"

#include <sqlite3.h>

#include <ctime>
#include <memory>

namespace polling {
namespace {

constexpr int busy_timeout_ms = 5000;

void bind_seconds(SQLite::Statement& statement, int index, const std::optional<Seconds>& value) {
  if (value) {
    statement.bind(index, *value);
  } else {
    statement.bind(index);
  }
}

}  // namespace

Seconds now_s() { return std::time(nullptr); }

bool passes(const SQLite::Exception& error) {
  switch (error.getErrorCode() & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_PROTOCOL:  // somebody stands between two locks for longer than SQLite cares to wait
    case SQLITE_READONLY:
    case SQLITE_IOERR:
    case SQLITE_FULL:
    case SQLITE_CANTOPEN:
      return true;
    default:
      return false;
  }
}

Ledger::Ledger(const std::string& file, OnDoubt on_doubt)
    : db_(file, SQLite::OPEN_READWRITE, busy_timeout_ms), on_doubt_(on_doubt) {
  db_.exec("PRAGMA synchronous = FULL");
}

std::optional<Job> Ledger::claim() {
  while (true) {
    SQLite::Transaction transaction(db_, SQLite::TransactionBehavior::IMMEDIATE);
    Taken taken = take_oldest();
    transaction.commit();
    if (taken.job || !taken.found) return std::move(taken.job);
  }
}

Ledger::Taken Ledger::take_oldest() {
  // The clock is read inside the transaction: waiting for the lock must not eat the lease.
  const Seconds now = now_s();
  // Prepared once: an idle worker does little else than to ask this.
  if (!due_)
    due_.emplace(db_,
                 "SELECT digest_key, json_object('digest_key', digest_key, 'customer_id', customer_id), "
                 "token, attempts, sending_at"
                 " FROM digest_jobs WHERE due_at <= ?1"
                 " AND ((state = 'pending' AND retry_at <= ?1) OR (state = 'leased' AND lease_until <= ?1))"
                 " ORDER BY due_at, digest_key LIMIT 1");
  SQLite::Statement& select = *due_;
  // However this ends: a statement that is not done keeps its transaction from ending.
  const auto done = [](SQLite::Statement* statement) { statement->tryReset(); };
  const std::unique_ptr<SQLite::Statement, decltype(done)> reset(&select, done);
  select.bind(1, now);
  if (!select.executeStep()) return {};
  Job job{.digest_key = select.getColumn(0).getString(),
          .body = select.getColumn(1).getString(),
          .token = select.getColumn(2).getInt64() + 1,
          .lease_until = now + lease_s,
          .sending_before = {}};
  const bool used_up = select.getColumn(3).getInt() >= max_attempts;
  if (!select.getColumn(4).isNull()) job.sending_before = select.getColumn(4).getInt64();

  if (job.sending_before && (on_doubt_ == OnDoubt::flag || used_up)) {
    give_up(job.digest_key, "needs_review", "an earlier attempt may have been accepted");
    return {.found = true, .job = {}};
  }
  if (used_up) {
    give_up(job.digest_key, "exhausted", nullptr);
    return {.found = true, .job = {}};
  }
  SQLite::Statement lease(db_,
                          "UPDATE digest_jobs SET state = 'leased', lease_until = ?, attempts = attempts + 1, token = "
                          "? WHERE digest_key = ?");
  lease.bind(1, job.lease_until);
  lease.bind(2, job.token);
  lease.bind(3, job.digest_key);
  lease.exec();
  return {.found = true, .job = std::move(job)};
}

void Ledger::give_up(const std::string& digest_key, const char* state, const char* reason) {
  SQLite::Statement update(
      db_, "UPDATE digest_jobs SET state = ?, lease_until = NULL, reason = coalesce(?, reason) WHERE digest_key = ?");
  update.bind(1, state);
  if (reason) {
    update.bind(2, reason);
  } else {
    update.bind(2);
  }
  update.bind(3, digest_key);
  update.exec();
}

bool Ledger::record_intent(const Job& job) {
  const Seconds now = now_s();
  SQLite::Statement update(db_,
                           "UPDATE digest_jobs SET sending_at = coalesce(sending_at, ?)"
                           " WHERE digest_key = ? AND token = ? AND state = 'leased' AND lease_until >= ?");
  update.bind(1, now);
  update.bind(2, job.digest_key);
  update.bind(3, job.token);
  update.bind(4, now + send_timeout_s);
  return update.exec() == 1;
}

bool Ledger::settle(const Job& job, const Answer& answer) {
  const Seconds now = now_s();
  const bool delivered = answer.outcome == Outcome::accepted;
  const bool review = answer.outcome == Outcome::doubt && on_doubt_ == OnDoubt::flag;
  // Only a definite no takes the intent back, and only its own: what an earlier attempt left open stays open.
  SQLite::Statement update(db_,
                           "UPDATE digest_jobs SET state = ?1, lease_until = NULL, reason = ?2, retry_at = ?3,"
                           " delivered_at = ?4, sending_at = CASE WHEN ?5 THEN ?6 ELSE sending_at END"
                           " WHERE digest_key = ?7 AND token = ?8 AND state = 'leased'");
  update.bind(1, delivered ? "delivered" : review ? "needs_review" : "pending");
  if (delivered) {
    update.bind(2);
  } else {
    update.bind(2, answer.reason);
  }
  update.bind(3, now + retry_delay_s);
  bind_seconds(update, 4, delivered ? std::optional(now) : std::nullopt);
  update.bind(5, answer.outcome == Outcome::definite_no ? 1 : 0);
  bind_seconds(update, 6, job.sending_before);
  update.bind(7, job.digest_key);
  update.bind(8, job.token);
  return update.exec() == 1;
}

std::string Ledger::describe(const Job& job) {
  SQLite::Statement select(db_, "SELECT state, token FROM digest_jobs WHERE digest_key = ?");
  select.bind(1, job.digest_key);
  if (!select.executeStep()) return "gone";
  return select.getColumn(0).getString() + ", token " + select.getColumn(1).getString();
}

}  // namespace polling
