#include "operator.h"

#include <stdexcept>
#include <string_view>

namespace reference {
namespace {

// The key, the token and the count of claims stay: it is the same job. It gets as many attempts as it has had.
constexpr std::string_view replay_sql =
    "UPDATE digest_jobs SET state = 'pending', retry_at = 0, granted = attempts"
    " WHERE digest_key = :key AND state = 'exhausted'";
// The doubt is the person's now, so the intent goes too.
constexpr std::string_view redrive_sql =
    "UPDATE digest_jobs SET state = 'pending', retry_at = 0, sending_at = NULL, granted = attempts"
    " WHERE digest_key = :key AND state = 'needs_review'";
// As long as any transport may still repeat the key, its row is what stops a second job.
constexpr std::string_view purge_sql =
    "DELETE FROM digest_jobs WHERE digest_key = :key AND state = 'delivered' AND delivered_at <= unixepoch() - 2592000";

std::string_view sql_of(const std::string& action) {
  if (action == "replay") return replay_sql;
  if (action == "redrive") return redrive_sql;
  if (action == "purge") return purge_sql;
  throw std::invalid_argument("an operator can replay, redrive or purge a job");
}

}  // namespace

int operate(Database& db, const std::string& name, const std::string& action, const std::string& key) {
  const std::string_view sql = sql_of(action);
  Immediate transaction(db);
  const int changed = db.query(sql).with(":key", key).change();
  if (changed > 0) {
    Query record = db.query(
        "INSERT INTO operator_actions (at, operator, action, digest_key) VALUES (unixepoch(), :name, :action, :key)");
    record.with(":name", name).with(":action", action).with(":key", key).change();
  }
  transaction.commit();
  return changed;
}

}  // namespace reference
