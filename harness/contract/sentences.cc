#include "harness/contract/sentences.h"

#include <fmt/format.h>

#include "harness/core/plan.h"

namespace halfsent {

std::string in_seconds(Nanoseconds at) {
  const auto milliseconds = at.count() / 1'000'000;
  const char* sign = milliseconds < 0 ? "-" : "";
  const auto size = milliseconds < 0 ? -milliseconds : milliseconds;
  return fmt::format("{}{}.{:03} s", sign, size / 1000, size % 1000);
}

std::string who(const Event& event) {
  if (event.actor.empty()) return "the world";
  if (event.incarnation > 1) return fmt::format("{} (incarnation {})", actor_label(event), event.incarnation);
  return actor_label(event);
}

std::string who_and_when(const Event& event) { return fmt::format("{} at {}", who(event), in_seconds(event.at)); }

std::string times(std::size_t count) {
  if (count == 1) return "once";
  if (count == 2) return "twice";
  return fmt::format("{} times", count);
}

std::string listed(const std::vector<std::string>& items, std::size_t limit) {
  const bool cut = items.size() > limit;
  const std::size_t shown = cut ? limit : items.size();
  std::string text;
  for (std::size_t i = 0; i < shown; ++i) {
    if (i > 0) text += (!cut && i + 1 == shown) ? " and " : ", ";
    text += items[i];
  }
  if (cut) text += fmt::format(" and {} more", items.size() - shown);
  return text;
}

std::string row_change(const Event& event) {
  const auto& change = std::get<LedgerChanged>(event.body);
  const std::string by = who_and_when(event);
  switch (change.to) {
    case JobState::none:
      return "row removed by " + by;
    case JobState::pending:
      return (change.from == JobState::none ? "scheduled by " : "put back to pending by ") + by;
    case JobState::leased:
      return "claimed by " + by;
    case JobState::delivered:
      return "marked delivered by " + by;
    case JobState::flagged:
      return "flagged by " + by;
    case JobState::unlisted:
      return fmt::format("set to {}, a state the scenario does not list, by {}", quote_key(change.raw_state), by);
  }
  return "changed by " + by;
}

}  // namespace halfsent
