#include "recovery.h"

#include "defect.h"
#include "seeded_recovery.h"

namespace reference {
namespace {

// One statement: nobody can mark or renew between the look and the write. Each row of a page changes its state, so a
// full page is never met twice.
std::string_view sweep_sql() {
  return unless(
      "UPDATE digest_jobs SET owner = NULL, lease_until = NULL, retry_at = 0,"
      " reason = iif(sending_at IS NULL, coalesce(reason, 'its holder was lost'), 'it may have been accepted'),"
      " state = CASE WHEN sending_at IS NOT NULL AND (:flag OR attempts - granted >= :max) THEN 'needs_review'"
      "              WHEN attempts - granted >= :max THEN 'exhausted' ELSE 'pending' END"
      " WHERE digest_key IN (SELECT digest_key FROM digest_jobs WHERE state = 'leased' AND lease_until <= unixepoch()"
      "   ORDER BY lease_until, digest_key LIMIT :page)"
      " AND state = 'leased' AND lease_until <= unixepoch()",
      {{Defect::sweep_gives_up,
        "UPDATE digest_jobs SET owner = NULL, lease_until = NULL, state = 'needs_review', reason = 'its holder was "
        "lost'"
        " WHERE state = 'leased' AND lease_until <= unixepoch() AND :flag + :max + :page > 0"}});
}

}  // namespace

int Recovery::sweep() {
  if (recovers_wrongly()) {
    sweep_wrongly(db_, owner_, terms_);
    return 0;
  }
  before_sweep(db_, terms_);
  int swept = 0;
  while (anything_expired()) {
    const int page = sweep_page();
    if (page == 0) break;  // somebody else was faster
    swept += page;
  }
  return swept;
}

int Recovery::sweep_page() {
  Query sweep = db_.query(sweep_sql());
  sweep.with(":flag", terms_.on_doubt == OnDoubt::flag ? 1 : 0).with(":max", terms_.max_attempts);
  sweep.with(":page", terms_.sweep_page);
  return sweep.change();
}

bool Recovery::anything_expired() {
  Query look = db_.query("SELECT 1 FROM digest_jobs WHERE state = 'leased' AND lease_until <= unixepoch() LIMIT 1");
  return look.step();
}

}  // namespace reference
