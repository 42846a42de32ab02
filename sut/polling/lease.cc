#include "lease.h"

#include "defect.h"
#include "seeded_claim.h"

namespace reference {
namespace {

// The ledger's clock is read inside the statement, when it has the lock: waiting for it must not eat the lease.
std::string_view claim_sql() {
  return unless(
      "UPDATE digest_jobs SET state = 'leased', owner = :owner, lease_until = unixepoch() + :lease,"
      " attempts = attempts + 1, token = token + 1"
      " WHERE digest_key = (SELECT digest_key FROM digest_jobs"
      "   WHERE state = 'pending' AND due_at <= unixepoch() AND retry_at <= unixepoch()"
      "   ORDER BY due_at, digest_key LIMIT 1) AND state = 'pending'"
      " RETURNING digest_key, customer_id, token, attempts - granted, lease_until, sending_at",
      {{Defect::counts_twice,
        "UPDATE digest_jobs SET state = 'leased', owner = :owner, lease_until = unixepoch() + :lease,"
        " attempts = attempts + 2, token = token + 1"
        " WHERE digest_key = (SELECT digest_key FROM digest_jobs"
        "   WHERE state = 'pending' AND due_at <= unixepoch() AND retry_at <= unixepoch()"
        "   ORDER BY due_at, digest_key LIMIT 1) AND state = 'pending'"
        " RETURNING digest_key, customer_id, token, attempts - granted, lease_until, sending_at"},
       {Defect::attempts_at_failure,
        "UPDATE digest_jobs SET state = 'leased', owner = :owner, lease_until = unixepoch() + :lease, token = token + 1"
        " WHERE digest_key = (SELECT digest_key FROM digest_jobs"
        "   WHERE state = 'pending' AND due_at <= unixepoch() AND retry_at <= unixepoch()"
        "   ORDER BY due_at, digest_key LIMIT 1) AND state = 'pending'"
        " RETURNING digest_key, customer_id, token, attempts + 1, lease_until, sending_at"}});
}

std::string_view keep_sql() {
  return unless(
      "UPDATE digest_jobs SET lease_until = unixepoch() + :lease"
      " WHERE digest_key = :key AND token = :token AND state = 'leased' AND lease_until > unixepoch()"
      " RETURNING lease_until",
      {{Defect::renewal_takes_back,
        "UPDATE digest_jobs SET lease_until = unixepoch() + :lease, token = :token"
        " WHERE digest_key = :key AND state = 'leased' RETURNING lease_until"},
       // The token doubles as the version of the row.
       {Defect::renewal_bumps_token,
        "UPDATE digest_jobs SET lease_until = unixepoch() + :lease, token = token + 1"
        " WHERE digest_key = :key AND token = :token AND state = 'leased' AND lease_until > unixepoch()"
        " RETURNING lease_until"}});
}

std::string_view intent_sql() {
  return unless(
      "UPDATE digest_jobs SET sending_at = coalesce(sending_at, unixepoch())"
      " WHERE digest_key = :key AND token = :token AND state = 'leased' AND lease_until >= unixepoch() + :timeout",
      {{Defect::lease_shorter_than_send,
        "UPDATE digest_jobs SET sending_at = coalesce(sending_at, unixepoch())"
        " WHERE digest_key = :key AND token = :token AND state = 'leased'"}});
}

// Only a definite no takes the intent back, and only its own: what an earlier attempt left open stays open.
std::string_view settle_sql() {
  return unless(
      "UPDATE digest_jobs SET state = :state, owner = NULL, lease_until = NULL, reason = :reason,"
      " retry_at = unixepoch() + :delay, delivered_at = iif(:state = 'delivered', unixepoch(), NULL),"
      " sending_at = iif(:take_back, :before, sending_at)"
      " WHERE digest_key = :key AND token = :token AND state = 'leased'",
      {{Defect::late_failure_overwrites,
        "UPDATE digest_jobs SET state = :state, owner = NULL, lease_until = NULL, reason = :reason,"
        " retry_at = unixepoch() + :delay, delivered_at = iif(:state = 'delivered', unixepoch(), NULL),"
        " sending_at = iif(:take_back, :before, sending_at)"
        " WHERE digest_key = :key AND (token = :token OR :state <> 'delivered')"},
       {Defect::mark_by_key,
        "UPDATE digest_jobs SET state = :state, owner = NULL, lease_until = NULL, reason = :reason,"
        " retry_at = unixepoch() + :delay, delivered_at = iif(:state = 'delivered', unixepoch(), NULL),"
        " sending_at = iif(:take_back, :before, sending_at)"
        " WHERE digest_key = :key AND :token > 0 AND state = 'leased'"},
       {Defect::attempts_at_failure,
        "UPDATE digest_jobs SET state = :state, owner = NULL, lease_until = NULL, reason = :reason,"
        " retry_at = unixepoch() + :delay, delivered_at = iif(:state = 'delivered', unixepoch(), NULL),"
        " sending_at = iif(:take_back, :before, sending_at), attempts = attempts + (:state <> 'delivered')"
        " WHERE digest_key = :key AND token = :token AND state = 'leased'"},
       {Defect::claim_deletes,
        // What is done is not put back.
        "INSERT INTO digest_jobs (digest_key, customer_id, digest_week, due_at, state, attempts, token, reason,"
        "  retry_at, sending_at)"
        " SELECT :key, :customer, '', 0, :state, :attempt, :token, :reason, unixepoch() + :delay,"
        "  iif(:take_back, :before, unixepoch()) WHERE :state <> 'delivered'"}});
}

// The state that an attempt leaves behind. What is exhausted may be sent again by an operator; what needs review must
// be looked at first.
std::string state_after(const Job& job, Outcome outcome, const Terms& terms) {
  const bool last = job.attempt >= terms.max_attempts;
  if (outcome == Outcome::accepted) return "delivered";
  if (outcome == Outcome::doubt) return terms.on_doubt == OnDoubt::flag || last ? "needs_review" : "pending";
  if (!last) return "pending";
  return job.sending_before ? "needs_review" : "exhausted";
}

}  // namespace

std::optional<Job> Leases::claim() {
  if (has(Defect::prefetch)) return claim_two();
  std::optional<Job> job = take();
  if (job && has(Defect::claims_two_runs_one)) take();
  return job;
}

// The second waits in memory, leased, until the first is done.
std::optional<Job> Leases::claim_two() {
  if (fetched_) {
    std::optional<Job> job = std::move(fetched_);
    fetched_.reset();
    trusted_key_ = job->digest_key;
    return job;
  }
  std::optional<Job> job = take();
  if (job) fetched_ = take();
  return job;
}

std::optional<Job> Leases::take() {
  if (claims_wrongly()) return claim_wrongly(db_, owner_, terms_);
  if (!anything_due()) return std::nullopt;
  Query take = db_.query(claim_sql());
  take.with(":owner", owner_).with(":lease", terms_.lease_s);
  if (!take.step()) return std::nullopt;
  Job job{.digest_key = take.text(0),
          .customer_id = take.text(1),
          .token = take.number(2),
          .attempt = static_cast<int>(take.number(3)),
          .lease_until = take.number(4),
          .sending_before = take.seconds(5)};
  take.change();  // it is committed when the statement is done
  return job;
}

// An idle worker only reads.
bool Leases::anything_due() {
  Query look = db_.query(
      "SELECT 1 FROM digest_jobs WHERE state = 'pending' AND due_at <= unixepoch() AND retry_at <= unixepoch() LIMIT "
      "1");
  return look.step();
}

bool Leases::keep(Job& job) {
  if (trusts(job)) return true;
  if (job.lease_until - now() > terms_.lease_s / 2) return true;
  Query renew = db_.query(keep_sql());
  renew.with(":key", job.digest_key).with(":token", job.token).with(":lease", terms_.lease_s);
  if (!renew.step()) return false;
  job.lease_until = renew.number(0);
  renew.change();
  return true;
}

// What is ours by our own belief. The defects that never ask the ledger again.
bool Leases::trusts(const Job& job) {
  if (has(Defect::own_clock)) return now() < job.lease_until;
  return has_any({Defect::expiry_before_pause, Defect::no_lease_check, Defect::sweep_by_age, Defect::claim_deletes}) ||
         job.digest_key == trusted_key_;
}

bool Leases::record_intent(const Job& job) {
  if (trusts(job)) {
    Query intent =
        db_.query("UPDATE digest_jobs SET sending_at = coalesce(sending_at, unixepoch()) WHERE digest_key = :key");
    intent.with(":key", job.digest_key).change();
    return true;
  }
  Query intent = db_.query(intent_sql());
  intent.with(":key", job.digest_key).with(":token", job.token);
  if (!has(Defect::lease_shorter_than_send)) intent.with(":timeout", terms_.send_timeout_s);
  return intent.change() == 1;
}

bool Leases::settle(const Job& job, const Answer& answer) {
  Query settle = db_.query(settle_sql());
  settle.with(":key", job.digest_key).with(":token", job.token);
  settle.with(":state", state_after(job, answer.outcome, terms_)).with(":reason", answer.reason);
  settle.with(":delay", terms_.retry_delay_s).with(":before", job.sending_before);
  if (has(Defect::claim_deletes)) settle.with(":customer", job.customer_id).with(":attempt", job.attempt);
  settle.with(":take_back", answer.outcome == Outcome::definite_no ? 1 : 0);
  return settle.change() == 1;
}

std::string Leases::describe(const Job& job) {
  Query look = db_.query("SELECT state, token FROM digest_jobs WHERE digest_key = :key");
  look.with(":key", job.digest_key);
  if (!look.step()) return "gone";
  return look.text(0) + ", token " + look.text(1);
}

Seconds Leases::now() {
  Query clock = db_.query("SELECT unixepoch()");
  clock.step();
  return clock.number(0);
}

}  // namespace reference
