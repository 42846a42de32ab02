#include "defect.h"

#include <algorithm>

namespace reference {
namespace {

struct Named {
  std::string_view name;
  Defect defect;
};

constexpr Named names[] = {
    {"none", Defect::none},
    {"select-then-update", Defect::select_then_update},
    {"guard-by-state-only", Defect::guard_by_state_only},
    {"expiry-before-pause", Defect::expiry_before_pause},
    {"claim-deletes", Defect::claim_deletes},
    {"state-before-lease", Defect::state_before_lease},
    {"attempts-at-failure", Defect::attempts_at_failure},
    {"prefetch", Defect::prefetch},
    {"counts-twice", Defect::counts_twice},
    {"claims-two-runs-one", Defect::claims_two_runs_one},
    {"lease-shorter-than-send", Defect::lease_shorter_than_send},
    {"renewal-takes-back", Defect::renewal_takes_back},
    {"no-lease-check", Defect::no_lease_check},
    {"own-clock", Defect::own_clock},
    {"renewal-bumps-token", Defect::renewal_bumps_token},
    {"renews-for-ever", Defect::renews_for_ever},
    {"sleeps-after-doubt", Defect::sleeps_after_doubt},
    {"timeout-is-failure", Defect::timeout_is_failure},
    {"key-per-attempt", Defect::key_per_attempt},
    {"key-per-week", Defect::key_per_week},
    {"any-answer-is-yes", Defect::any_answer_is_yes},
    {"never-marks", Defect::never_marks},
    {"marks-at-end-of-batch", Defect::marks_at_end_of_batch},
    {"late-failure-overwrites", Defect::late_failure_overwrites},
    {"mark-by-key", Defect::mark_by_key},
    {"unlock-by-key", Defect::unlock_by_key},
    {"mark-error-is-failure", Defect::mark_error_is_failure},
    {"mark-before-send", Defect::mark_before_send},
    {"mark-error-ends-loop", Defect::mark_error_ends_loop},
    {"mark-error-gives-up", Defect::mark_error_gives_up},
    {"stale-sweep", Defect::stale_sweep},
    {"sweep-by-age", Defect::sweep_by_age},
    {"reclaim-at-start", Defect::reclaim_at_start},
    {"sweep-at-start-only", Defect::sweep_at_start_only},
    {"owner-row-pruned", Defect::owner_row_pruned},
    {"owner-name-reused", Defect::owner_name_reused},
    {"first-page-only", Defect::first_page_only},
    {"exhausted-deleted", Defect::exhausted_deleted},
    {"exhausted-parked", Defect::exhausted_parked},
    {"slow-sweep", Defect::slow_sweep},
    {"lazy-sweep", Defect::lazy_sweep},
    {"reclaims-early", Defect::reclaims_early},
    {"sweep-gives-up", Defect::sweep_gives_up},
    {"schedule-trusts-peer", Defect::schedule_trusts_peer},
    {"unique-for-a-while", Defect::unique_for_a_while},
    {"key-by-node", Defect::key_by_node},
    {"slot-by-own-clock", Defect::slot_by_own_clock},
    {"enqueue-after-commit", Defect::enqueue_after_commit},
    {"send-before-check", Defect::send_before_check},
    {"no-authority", Defect::no_authority},
    {"schedules-inactive", Defect::schedules_inactive},
    {"unique-by-looking", Defect::unique_by_looking},
};

Defect seeded = Defect::none;

}  // namespace

bool seed(std::string_view name) {
  for (const Named& named : names) {
    if (named.name != name) continue;
    seeded = named.defect;
    return true;
  }
  return false;
}

bool has(Defect defect) { return seeded == defect; }

bool has_any(std::initializer_list<Defect> defects) {
  return std::find(defects.begin(), defects.end(), seeded) != defects.end();
}

std::string_view unless(std::string_view right, std::initializer_list<Wrong> wrong) {
  for (const auto& [defect, text] : wrong) {
    if (has(defect)) return text;
  }
  return right;
}

}  // namespace reference
