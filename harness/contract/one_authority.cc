#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <map>
#include <optional>

#include "harness/contract/run_invariants.h"
#include "harness/contract/sentences.h"
#include "harness/core/plan.h"

namespace halfsent {
namespace {

struct Scheduled {
  const Event* event = nullptr;
  const LedgerChanged* row = nullptr;
};

std::optional<std::int64_t> number(const std::string& text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// What was scheduled for each cohort, in order; a purged and remade row counts again.
std::map<std::string, std::vector<Scheduled>> by_cohort(const History& history) {
  std::map<std::string, std::vector<Scheduled>> cohorts;
  for (const Event& event : history.events) {
    const auto* row = std::get_if<LedgerChanged>(&event.body);
    if (row == nullptr || row->from != JobState::none || row->cohort.empty() || row->authority.empty()) continue;
    cohorts[row->cohort].push_back({&event, row});
  }
  return cohorts;
}

// The earlier one after which `later` must not have come, or null.
const Scheduled* overtaken_by(const std::vector<Scheduled>& scheduled, std::size_t later) {
  const std::string& mine = scheduled[later].row->authority;
  const auto my_number = number(mine);
  bool seen_mine = false;
  for (std::size_t i = 0; i < later; ++i) {
    const std::string& other = scheduled[i].row->authority;
    const auto other_number = number(other);
    if (my_number && other_number) {
      if (*other_number > *my_number) return &scheduled[i];
    } else if (other == mine) {
      seen_mine = true;
    } else if (seen_mine) {
      return &scheduled[i];
    }
  }
  return nullptr;
}

}  // namespace

RunFindings judge_one_authority(const RunFacts& run, const ContractTerms&) {
  RunFindings found;
  if (!run.has_cohort || !run.has_authority) {
    found.not_judged = fmt::format("rows show no {}", run.has_cohort ? "authority" : "cohort");
    return found;
  }
  for (const auto& [cohort, scheduled] : by_cohort(*run.history)) {
    for (std::size_t i = 0; i < scheduled.size(); ++i) {
      const Scheduled* over = overtaken_by(scheduled, i);
      if (over == nullptr) continue;
      found.broken.push_back(
          {.key = scheduled[i].row->key,
           .why =
               fmt::format("{} under the authority {} for the cohort {}, although the authority {} had taken over: {} "
                           "was {}",
                           row_change(*scheduled[i].event), quote_key(scheduled[i].row->authority), quote_key(cohort),
                           quote_key(over->row->authority), quote_key(over->row->key), row_change(*over->event)),
           .evidence = {over->event->seq, scheduled[i].event->seq}});
      break;
    }
  }
  return found;
}

}  // namespace halfsent
