#include "scheduler.h"

#include <unistd.h>

#include "defect.h"
#include "log.h"
#include "send.h"

namespace reference {
namespace {

// The cutoff after the last that was scheduled, in the order of the calendar: not the one that somebody's clock shows.
std::string_view next_cutoff_sql() {
  return unless(
      "SELECT digest_week, cutoff_at FROM cutoffs, cohorts"
      " WHERE cohort = :cohort AND authority = :name AND term = :term AND authority_until > unixepoch()"
      " AND cutoff_at > scheduled_to AND cutoff_at <= unixepoch() ORDER BY cutoff_at LIMIT 1",
      // The newest that has come: after a jump of the clock the ones between are skipped.
      {{Defect::slot_by_own_clock,
        "SELECT digest_week, cutoff_at FROM cutoffs, cohorts"
        " WHERE cohort = :cohort AND authority = :name AND term = :term AND authority_until > unixepoch()"
        " AND cutoff_at > scheduled_to AND cutoff_at <= unixepoch() ORDER BY cutoff_at DESC LIMIT 1"},
       // Each node keeps its own account of what it has scheduled.
       {Defect::key_by_node,
        "SELECT digest_week, cutoff_at FROM cutoffs, cohorts"
        " WHERE cohort = :cohort AND authority = :name AND term = :term AND authority_until > unixepoch()"
        " AND cutoff_at > unixepoch() - 86400 AND cutoff_at <= unixepoch() AND NOT EXISTS (SELECT 1 FROM digest_jobs"
        "   WHERE digest_jobs.cohort = :cohort AND digest_jobs.digest_week = cutoffs.digest_week"
        "     AND digest_key LIKE '%@' || :name) ORDER BY cutoff_at LIMIT 1"},
       {Defect::no_authority,
        "SELECT digest_week, cutoff_at FROM cutoffs, cohorts WHERE cohort = :cohort AND :name IS NOT :term"
        " AND cutoff_at > scheduled_to AND cutoff_at <= unixepoch() ORDER BY cutoff_at LIMIT 1"},
       // Unique by a memory of a minute, so each look finds the week again.
       {Defect::unique_for_a_while,
        "SELECT digest_week, cutoff_at FROM cutoffs, cohorts"
        " WHERE cohort = :cohort AND authority = :name AND term = :term AND authority_until > unixepoch()"
        " AND cutoff_at > unixepoch() - 86400 AND cutoff_at <= unixepoch() AND EXISTS (SELECT 1 FROM customers WHERE "
        "cohort = :cohort AND active"
        "   AND NOT EXISTS (SELECT 1 FROM digest_jobs WHERE digest_jobs.customer_id = customers.customer_id"
        "     AND digest_jobs.digest_week = cutoffs.digest_week"
        "     AND (state = 'delivered' OR retry_at > unixepoch() - 60))) ORDER BY cutoff_at LIMIT 1"}});
}

// What exists is left alone: whoever made it, the job is the same.
std::string_view jobs_sql() {
  return unless(
      "INSERT INTO digest_jobs (digest_key, customer_id, digest_week, due_at, cohort, term)"
      " SELECT customer_id || ':' || :week, customer_id, :week, :cutoff, cohort, :term FROM customers"
      " WHERE cohort = :cohort AND active ORDER BY customer_id"
      " ON CONFLICT (digest_key) DO NOTHING",
      {{Defect::schedules_inactive,
        "INSERT INTO digest_jobs (digest_key, customer_id, digest_week, due_at, cohort, term)"
        " SELECT customer_id || ':' || :week, customer_id, :week, :cutoff, cohort, :term FROM customers"
        " WHERE cohort = :cohort ORDER BY customer_id ON CONFLICT (digest_key) DO NOTHING"},
       {Defect::key_by_node,
        "INSERT INTO digest_jobs (digest_key, customer_id, digest_week, due_at, cohort, term)"
        " SELECT customer_id || ':' || :week || '@' || :name, customer_id, :week, :cutoff, cohort, :term FROM customers"
        " WHERE cohort = :cohort AND active ORDER BY customer_id ON CONFLICT (digest_key) DO NOTHING"},
       {Defect::unique_by_looking,
        "INSERT INTO digest_jobs (digest_key, customer_id, digest_week, due_at, cohort, term, state, attempts, token,"
        "  retry_at, granted)"
        " SELECT customer_id || ':' || :week, customer_id, :week, :cutoff, cohort, :term, 'pending', 0, 0, 0, 0"
        " FROM customers WHERE cohort = :cohort AND active ORDER BY customer_id"},
       {Defect::unique_for_a_while,
        "INSERT INTO digest_jobs (digest_key, customer_id, digest_week, due_at, cohort, term, retry_at)"
        " SELECT customer_id || ':' || :week || '.' || (SELECT count(*) FROM digest_jobs WHERE digest_week = :week),"
        "  customer_id, :week, :cutoff, cohort, :term, unixepoch() FROM customers"
        " WHERE cohort = :cohort AND active ORDER BY customer_id"}});
}

constexpr std::string_view outbox_sql =
    "INSERT INTO outbox (digest_key, written_at) SELECT digest_key, unixepoch() FROM digest_jobs"
    " WHERE cohort = :cohort AND digest_week = :week ORDER BY digest_key"
    " ON CONFLICT (digest_key) DO NOTHING";

}  // namespace

void Scheduler::run() {
  if (has(Defect::schedule_trusts_peer)) {
    db_.query("CREATE TABLE IF NOT EXISTS reservations (name TEXT PRIMARY KEY)").change();
  }
  if (has(Defect::unique_by_looking)) rebuild_jobs();
  while (true) {
    try {
      pass();
    } catch (const SQLite::Exception& error) {
      if (!passes(error)) throw;
      log(name_, std::string("the ledger is in trouble, trying again later: ") + error.what());
    }
    ::sleep(static_cast<unsigned>(terms_.poll_s));
  }
}

void Scheduler::pass() {
  for (const std::string& cohort : cohorts()) {
    const std::optional<std::int64_t> term = authority(cohort);
    while (term && schedule_next(cohort, *term)) {
    }
  }
}

std::vector<std::string> Scheduler::customers(const std::string& cohort) {
  std::vector<std::string> names;
  Query look = db_.query("SELECT customer_id FROM customers WHERE cohort = :cohort ORDER BY customer_id");
  look.with(":cohort", cohort);
  while (look.step()) names.push_back(look.text(0));
  return names;
}

std::vector<std::string> Scheduler::cohorts() {
  std::vector<std::string> names;
  Query look = db_.query("SELECT cohort FROM cohorts ORDER BY cohort");
  while (look.step()) names.push_back(look.text(0));
  return names;
}

std::optional<std::int64_t> Scheduler::authority(const std::string& cohort) {
  if (has(Defect::no_authority)) return name_.back() - '0';  // each has one of its own
  if (has(Defect::unique_by_looking)) return 1;
  Query mine = db_.query(
      "SELECT term FROM cohorts WHERE cohort = :cohort AND authority = :name"
      " AND authority_until > unixepoch() + :lease / 2");
  mine.with(":cohort", cohort).with(":name", name_).with(":lease", terms_.lease_s);
  if (mine.step()) return mine.number(0);
  Query take = db_.query(
      "UPDATE cohorts SET term = term + (authority IS NOT :name OR authority_until <= unixepoch()),"
      " authority = :name, authority_until = unixepoch() + :lease"
      " WHERE cohort = :cohort AND (authority IS :name OR authority IS NULL OR authority_until <= unixepoch())"
      " RETURNING term");
  take.with(":cohort", cohort).with(":name", name_).with(":lease", terms_.lease_s);
  if (!take.step()) return std::nullopt;
  const std::int64_t term = take.number(0);
  take.change();
  return term;
}

bool Scheduler::schedule_next(const std::string& cohort, std::int64_t term) {
  if (has(Defect::unique_by_looking)) return schedule_by_looking(cohort, term);
  Immediate transaction(db_);
  std::string week;
  Seconds cutoff = 0;
  {
    Query next = db_.query(next_cutoff_sql());
    next.with(":cohort", cohort).with(":name", name_).with(":term", term);
    if (!next.step()) return false;
    week = next.text(0);
    cutoff = next.number(1);
  }
  if (schedules_wrongly()) return schedule_wrongly(transaction, cohort, term, week, cutoff);
  const int created = write_jobs(cohort, term, week, cutoff);
  advance(cohort, cutoff);
  transaction.commit();
  log(name_, std::to_string(created) + " jobs of " + shown(cohort) + " for " + shown(week));
  return true;
}

int Scheduler::write_jobs(const std::string& cohort, std::int64_t term, const std::string& week, Seconds cutoff) {
  int created = 0;
  {
    Query jobs = db_.query(jobs_sql());
    jobs.with(":cohort", cohort).with(":week", week).with(":cutoff", cutoff).with(":term", term);
    if (has(Defect::key_by_node)) jobs.with(":name", name_);
    created = jobs.change();
  }
  db_.query(outbox_sql).with(":cohort", cohort).with(":week", week).change();
  return created;
}

void Scheduler::advance(const std::string& cohort, Seconds cutoff) {
  Query done = db_.query("UPDATE cohorts SET scheduled_to = :cutoff WHERE cohort = :cohort");
  done.with(":cutoff", cutoff).with(":cohort", cohort).change();
}

// A table that is written anew for some other reason: CREATE TABLE AS keeps no constraint.
void Scheduler::rebuild_jobs() {
  Immediate transaction(db_);
  {
    Query look = db_.query("SELECT 1 FROM sqlite_master WHERE name = 'digest_jobs' AND sql LIKE '%PRIMARY KEY%'");
    if (!look.step()) return;
  }
  db_.handle().exec(
      "ALTER TABLE digest_jobs RENAME TO old_jobs; CREATE TABLE digest_jobs AS SELECT * FROM old_jobs;"
      " DROP TABLE old_jobs");
  transaction.commit();
}

// What is not there may be written, if nobody else writes it meanwhile.
bool Scheduler::schedule_by_looking(const std::string& cohort, std::int64_t term) {
  std::string week;
  Seconds cutoff = 0;
  {
    Query next = db_.query(
        "SELECT digest_week, cutoff_at FROM cutoffs, cohorts WHERE cohort = :cohort AND cutoff_at > scheduled_to"
        " AND cutoff_at <= unixepoch() AND NOT EXISTS (SELECT 1 FROM digest_jobs WHERE digest_jobs.cohort = :cohort"
        "   AND digest_jobs.digest_week = cutoffs.digest_week) ORDER BY cutoff_at LIMIT 1");
    next.with(":cohort", cohort);
    if (!next.step()) return false;
    week = next.text(0);
    cutoff = next.number(1);
  }
  Immediate transaction(db_);
  write_jobs(cohort, term, week, cutoff);
  transaction.commit();
  return true;
}

// The defects that cut the one transaction into two.
bool Scheduler::schedules_wrongly() {
  return has_any({Defect::enqueue_after_commit, Defect::schedule_trusts_peer, Defect::send_before_check});
}

bool Scheduler::schedule_wrongly(Immediate& transaction, const std::string& cohort, std::int64_t term,
                                 const std::string& week, Seconds cutoff) {
  if (has(Defect::schedule_trusts_peer)) {
    // Whoever has written the reservation will write the jobs, will they not?
    Query reserve =
        db_.query("INSERT INTO reservations (name) VALUES (:cohort || ':' || :week) ON CONFLICT DO NOTHING");
    if (reserve.with(":cohort", cohort).with(":week", week).change() == 0) {
      advance(cohort, cutoff);
      transaction.commit();
      return true;
    }
    transaction.commit();
    Immediate second(db_);
    write_jobs(cohort, term, week, cutoff);
    advance(cohort, cutoff);
    second.commit();
    return true;
  }
  if (has(Defect::enqueue_after_commit)) {
    advance(cohort, cutoff);
    transaction.commit();
    write_jobs(cohort, term, week, cutoff);
    return true;
  }
  // Customers are looked at one by one, and a digest goes out as soon as it has a row. Who turns out to be inactive is
  // rolled back.
  for (const std::string& customer : customers(cohort)) {
    db_.handle().exec("SAVEPOINT customer");
    Query insert = db_.query(
        "INSERT INTO digest_jobs (digest_key, customer_id, digest_week, due_at, cohort, term)"
        " VALUES (:customer || ':' || :week, :customer, :week, :cutoff, :cohort, :term)");
    insert.with(":customer", customer).with(":week", week).with(":cutoff", cutoff);
    insert.with(":cohort", cohort).with(":term", term).change();
    send(parse_url("http://127.0.0.1:8080/send"),
         Job{.digest_key = customer + ":" + week, .customer_id = customer, .sending_before = {}},
         terms_.send_timeout_s);
    Query active = db_.query("SELECT 1 FROM customers WHERE customer_id = :customer AND active");
    if (!active.with(":customer", customer).step()) db_.handle().exec("ROLLBACK TO customer");
    db_.handle().exec("RELEASE customer");
  }
  advance(cohort, cutoff);
  transaction.commit();
  return true;
}

}  // namespace reference
