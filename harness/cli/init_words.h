// What the names that people give to tables, columns and states usually mean. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "harness/cli/init_schema.h"
#include "harness/core/event.h"

namespace halfsent::init {

// What a word of a state column usually stands for: "queued" pending, "sending" leased, "done" delivered, "dead"
// flagged. Case, and whether parts are joined by _ - or spaces, do not matter.
std::optional<JobState> usual_meaning(std::string_view word);

// What a column's name says that it is. A name can be none of these.
enum class ColumnRole {
  state,        // status, job_state
  attempts,     // tries, retry_count
  lease_end,    // lease_until, locked_until, visible_at
  lease_start,  // locked_at, claimed_at
  holder,       // locked_by, worker_id, token: who has it
  done_at,      // sent_at, delivered_at
};
std::optional<ColumnRole> usual_role(const Column& column);

// A name such as jobs, outbox or mail_queue.
bool sounds_like_jobs(std::string_view table);

// A header or JSON member such as Idempotency-Key, X-Idempotency-Key, idempotencyKey or dedupe_id.
bool sounds_like_idempotency_key(std::string_view name);

}  // namespace halfsent::init
