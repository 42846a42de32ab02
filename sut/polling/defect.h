// Seeded defects: how real systems go wrong, each a few lines beside the right ones. defects.toml says what each does.
// Without --defect the system is right.
#pragma once

#include <initializer_list>
#include <string_view>

namespace reference {

enum class Defect {
  none,
  // claim
  select_then_update,
  guard_by_state_only,
  expiry_before_pause,
  claim_deletes,
  state_before_lease,
  attempts_at_failure,
  prefetch,
  counts_twice,
  claims_two_runs_one,
  // lease and clock
  lease_shorter_than_send,
  renewal_takes_back,
  no_lease_check,
  own_clock,
  renewal_bumps_token,
  renews_for_ever,
  // send and key
  timeout_is_failure,
  key_per_attempt,
  key_per_week,
  any_answer_is_yes,
  sleeps_after_doubt,
  // mark
  never_marks,
  marks_at_end_of_batch,
  late_failure_overwrites,
  mark_by_key,
  unlock_by_key,
  mark_error_is_failure,
  mark_before_send,
  mark_error_ends_loop,
  mark_error_gives_up,
  // recovery
  stale_sweep,
  sweep_by_age,
  reclaim_at_start,
  sweep_at_start_only,
  owner_row_pruned,
  owner_name_reused,
  first_page_only,
  exhausted_deleted,
  exhausted_parked,
  slow_sweep,
  lazy_sweep,
  reclaims_early,
  sweep_gives_up,
  // schedule
  schedule_trusts_peer,
  unique_for_a_while,
  key_by_node,
  slot_by_own_clock,
  enqueue_after_commit,
  send_before_check,
  no_authority,
  schedules_inactive,
  unique_by_looking,
};

// Turns the named defect on for this process. False: there is no such defect.
bool seed(std::string_view name);

bool has(Defect defect);
bool has_any(std::initializer_list<Defect> defects);

// The right text, or the wrong one of the defect that is on.
struct Wrong {
  Defect defect;
  std::string_view text;
};
std::string_view unless(std::string_view right, std::initializer_list<Wrong> wrong);

}  // namespace reference
