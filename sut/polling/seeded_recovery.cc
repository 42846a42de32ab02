#include "seeded_recovery.h"

#include <vector>

#include "defect.h"

namespace reference {
namespace {

// Writes by a list that was read before: in between the holder may have marked the job.
constexpr std::string_view sweep_by_key =
    "UPDATE digest_jobs SET owner = NULL, lease_until = NULL, retry_at = 0,"
    " state = CASE WHEN sending_at IS NOT NULL AND (:flag OR attempts >= :max) THEN 'needs_review'"
    "              WHEN attempts >= :max THEN 'exhausted' ELSE 'pending' END WHERE digest_key = :key";

void sweep_a_snapshot(Database& db, const Terms& terms) {
  std::vector<std::string> keys;
  {
    Query look = db.query("SELECT digest_key FROM digest_jobs WHERE state = 'leased' AND lease_until <= unixepoch()");
    while (look.step()) keys.push_back(look.text(0));
  }
  for (const std::string& key : keys) {
    Query write = db.query(sweep_by_key);
    write.with(":flag", terms.on_doubt == OnDoubt::flag ? 1 : 0).with(":max", terms.max_attempts);
    write.with(":key", key).change();
  }
}

// What runs out soon may as well be taken now.
void sweep_early(Database& db, const Terms& terms) {
  Query sweep = db.query(
      "UPDATE digest_jobs SET owner = NULL, lease_until = NULL, retry_at = 0,"
      " state = CASE WHEN sending_at IS NOT NULL AND (:flag OR attempts >= :max) THEN 'needs_review'"
      "              WHEN attempts >= :max THEN 'exhausted' ELSE 'pending' END"
      " WHERE state = 'leased' AND lease_until <= unixepoch() + 20");
  sweep.with(":flag", terms.on_doubt == OnDoubt::flag ? 1 : 0).with(":max", terms.max_attempts).change();
}

// In a state that no operator asks for, and that the constraint was not told of.
void park_exhausted(Database& db, const Terms& terms) {
  db.handle().exec("PRAGMA ignore_check_constraints = ON");
  Query park = db.query(
      "UPDATE digest_jobs SET state = 'parked', owner = NULL, lease_until = NULL"
      " WHERE state = 'leased' AND lease_until <= unixepoch() AND attempts >= :max");
  park.with(":max", terms.max_attempts).change();
}

// Nobody takes longer than half a lease, do they?
void sweep_by_age(Database& db, const Terms& terms) {
  Query sweep = db.query(
      "UPDATE digest_jobs SET state = 'pending', owner = NULL, lease_until = NULL"
      " WHERE state = 'leased' AND lease_until - :half <= unixepoch()");
  sweep.with(":half", terms.lease_s / 2).change();
}

// The page is cut before the rows that can be touched are chosen.
void sweep_first_page(Database& db, const Terms& terms) {
  Query sweep = db.query(
      "UPDATE digest_jobs SET state = 'pending', owner = NULL, lease_until = NULL"
      " WHERE digest_key IN (SELECT digest_key FROM digest_jobs WHERE state IN ('leased', 'needs_review')"
      "   ORDER BY digest_key LIMIT :page) AND state = 'leased' AND lease_until <= unixepoch()");
  sweep.with(":page", terms.sweep_page).change();
}

// Jobs are recovered through the rows of workers that have been silent for a lease.
void sweep_by_owner(Database& db, const std::string& owner, const Terms& terms) {
  {
    Query seen = db.query(
        "INSERT INTO workers (name, seen_at) VALUES (:name, unixepoch())"
        " ON CONFLICT (name) DO UPDATE SET seen_at = excluded.seen_at WHERE excluded.seen_at >= seen_at + 20");
    seen.with(":name", owner).change();
  }
  if (has(Defect::owner_row_pruned)) {
    Query prune = db.query("DELETE FROM workers WHERE seen_at + :lease <= unixepoch()");
    prune.with(":lease", terms.lease_s).change();
  }
  Query sweep = db.query(
      "UPDATE digest_jobs SET state = 'pending', owner = NULL, lease_until = NULL WHERE state = 'leased'"
      " AND owner IN (SELECT name FROM workers WHERE seen_at + :lease <= unixepoch())");
  sweep.with(":lease", terms.lease_s).change();
}

void delete_exhausted(Database& db, const Terms& terms) {
  Query gone =
      db.query("DELETE FROM digest_jobs WHERE state = 'leased' AND lease_until <= unixepoch() AND attempts >= :max");
  gone.with(":max", terms.max_attempts).change();
}

}  // namespace

bool recovers_wrongly() {
  return has_any({Defect::stale_sweep, Defect::sweep_by_age, Defect::first_page_only, Defect::owner_row_pruned,
                  Defect::owner_name_reused, Defect::sweep_at_start_only, Defect::claim_deletes,
                  Defect::reclaims_early});
}

void before_sweep(Database& db, const Terms& terms) {
  if (has(Defect::exhausted_deleted)) delete_exhausted(db, terms);
  if (has(Defect::exhausted_parked)) park_exhausted(db, terms);
}

void sweep_wrongly(Database& db, const std::string& owner, const Terms& terms) {
  if (has(Defect::stale_sweep)) sweep_a_snapshot(db, terms);
  if (has(Defect::reclaims_early)) sweep_early(db, terms);
  if (has(Defect::sweep_by_age)) sweep_by_age(db, terms);
  if (has(Defect::first_page_only)) sweep_first_page(db, terms);
  if (has_any({Defect::owner_row_pruned, Defect::owner_name_reused})) sweep_by_owner(db, owner, terms);
}

void start_wrongly(Database& db, const Terms& terms) {
  if (has_any({Defect::owner_row_pruned, Defect::owner_name_reused})) {
    db.query("CREATE TABLE IF NOT EXISTS workers (name TEXT PRIMARY KEY, seen_at INTEGER NOT NULL)").change();
  }
  if (has(Defect::sweep_at_start_only)) sweep_a_snapshot(db, terms);
  if (has(Defect::reclaim_at_start)) {
    Query reclaim =
        db.query("UPDATE digest_jobs SET state = 'pending', owner = NULL, lease_until = NULL WHERE state = 'leased'");
    reclaim.change();
  }
}

std::string holder_name(Database& db, const std::string& name) {
  if (!has(Defect::owner_row_pruned)) return name;
  Query random = db.query("SELECT hex(randomblob(4))");
  random.step();
  return name + "/" + random.text(0);
}

}  // namespace reference
