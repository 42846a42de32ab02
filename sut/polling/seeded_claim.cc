#include "seeded_claim.h"

#include "defect.h"

namespace reference {
namespace {

constexpr std::string_view look_sql =
    "SELECT digest_key, customer_id, token + 1, attempts + 1, unixepoch() + :lease, sending_at FROM digest_jobs"
    " WHERE state = 'pending' AND due_at <= unixepoch() AND retry_at <= unixepoch() ORDER BY due_at, digest_key LIMIT "
    "1";

Job job_of(Query& row) {
  return {.digest_key = row.text(0),
          .customer_id = row.text(1),
          .token = row.number(2),
          .attempt = static_cast<int>(row.number(3)),
          .lease_until = row.number(4),
          .sending_before = row.seconds(5)};
}

// Between the look and the write others may have had the job.
std::string_view write_sql() {
  return unless(
      "UPDATE digest_jobs SET state = 'leased', owner = :owner, lease_until = :until, attempts = :attempt,"
      " token = :token WHERE digest_key = :key",
      // The word is the same after a whole cycle of somebody else; the rest of the row is not.
      {{Defect::guard_by_state_only,
        "UPDATE digest_jobs SET state = 'leased', owner = :owner, lease_until = :until, attempts = :attempt,"
        " token = :token WHERE digest_key = :key AND state = 'pending'"},
       // Right but for the time, which is that of the look.
       {Defect::expiry_before_pause,
        "UPDATE digest_jobs SET state = 'leased', owner = :owner, lease_until = :until, attempts = :attempt,"
        " token = :token WHERE digest_key = :key AND state = 'pending' AND token = :token - 1"}});
}

std::optional<Job> look_then_write(Database& db, const std::string& owner, const Terms& terms) {
  std::optional<Job> job;
  {
    Query look = db.query(look_sql);
    look.with(":lease", terms.lease_s);
    if (look.step()) job = job_of(look);
  }
  if (!job) return std::nullopt;
  Query write = db.query(write_sql());
  write.with(":owner", owner).with(":until", job->lease_until).with(":attempt", job->attempt);
  write.with(":token", job->token).with(":key", job->digest_key);
  if (write.change() == 0) return std::nullopt;
  return job;
}

// The queue that forgets: what is taken is gone.
std::optional<Job> pop(Database& db, const Terms& terms) {
  Query take = db.query(
      "DELETE FROM digest_jobs WHERE digest_key = (SELECT digest_key FROM digest_jobs WHERE state = 'pending'"
      "   AND due_at <= unixepoch() AND retry_at <= unixepoch() ORDER BY due_at, digest_key LIMIT 1)"
      " RETURNING digest_key, customer_id, token + 1, attempts + 1, unixepoch() + :lease, sending_at");
  take.with(":lease", terms.lease_s);
  if (!take.step()) return std::nullopt;
  Job job = job_of(take);
  take.change();
  return job;
}

// A lease without an end, until the second write.
std::optional<Job> state_first(Database& db, const std::string& owner, const Terms& terms) {
  std::optional<Job> job;
  {
    Query take = db.query(
        "UPDATE digest_jobs SET state = 'leased', attempts = attempts + 1, token = token + 1"
        " WHERE digest_key = (SELECT digest_key FROM digest_jobs WHERE state = 'pending'"
        "   AND due_at <= unixepoch() AND retry_at <= unixepoch() ORDER BY due_at, digest_key LIMIT 1)"
        " RETURNING digest_key, customer_id, token, attempts, unixepoch() + :lease, sending_at");
    take.with(":lease", terms.lease_s);
    if (!take.step()) return std::nullopt;
    job = job_of(take);
    take.change();
  }
  Query lease = db.query(
      "UPDATE digest_jobs SET owner = :owner, lease_until = :until WHERE digest_key = :key AND token = :token");
  lease.with(":owner", owner).with(":until", job->lease_until).with(":key", job->digest_key);
  lease.with(":token", job->token).change();
  return job;
}

}  // namespace

bool claims_wrongly() {
  return has_any({Defect::select_then_update, Defect::guard_by_state_only, Defect::expiry_before_pause,
                  Defect::claim_deletes, Defect::state_before_lease});
}

std::optional<Job> claim_wrongly(Database& db, const std::string& owner, const Terms& terms) {
  if (has(Defect::claim_deletes)) return pop(db, terms);
  if (has(Defect::state_before_lease)) return state_first(db, owner, terms);
  return look_then_write(db, owner, terms);
}

}  // namespace reference
