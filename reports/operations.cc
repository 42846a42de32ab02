#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "harness/core/text.h"
#include "reports/layout.h"
#include "reports/terminal.h"

namespace halfsent {
namespace {

std::string line(std::string_view name, const std::string& text) {
  return fmt::format("{}  {}\n", pad(name, 12), text);
}

// "2 for 4189:2026-W33, 1 for 9 jobs": the keys of the jobs that needed more than others come first.
std::string attempts(const std::vector<JobOperations>& jobs) {
  std::map<std::int64_t, std::vector<std::string>, std::greater<>> by_count;
  for (const JobOperations& job : jobs) by_count[job.attempts].push_back(quote_key(job.key));
  std::string text;
  for (const auto& [count, keys] : by_count) {
    const std::string who = keys.size() == 1 ? keys.front() : fmt::format("{} jobs", keys.size());
    text += fmt::format("{}{} for {}", text.empty() ? "" : ", ", count, who);
  }
  return text.empty() ? "none" : text;
}

// "65.116 s at most (4189:2026-W33, from 0.000 s to 65.116 s)"
std::string at_most(const Span* span) {
  if (span == nullptr) return "none";
  return fmt::format("{} at most ({}{}, from {} {})", seconds(span->length()), quote_key(span->key),
                     span->holder.empty() ? "" : ", of " + printable(span->holder), seconds(span->from),
                     span->open ? "and not over" : "to " + seconds(span->to));
}

std::string allowed(const std::optional<Nanoseconds>& objective) {
  return objective ? "; allowed " + format_duration(*objective) : "";
}

}  // namespace

std::string operations_block(const Operations& seen, const Objectives& objectives, const Style& style) {
  const BoardPoint last = seen.series.empty() ? BoardPoint{} : seen.series.back();
  std::string out = paint(pad("operations", 12), Paint::bold, style);
  out += fmt::format("  {} delivered, {} flagged, {} pending, {} leased", last.delivered, last.flagged, last.pending,
                     last.leased + last.expired);
  if (objectives.pending_target) {
    int most = 0;
    for (const BoardPoint& point : seen.series) most = std::max(most, point.past_target);
    out += fmt::format("; {} open past {}, {} at most", last.past_target, format_duration(*objectives.pending_target),
                       most);
  }
  out += "\n";
  out += line("  attempts", attempts(seen.jobs));
  out += line("  leases", fmt::format("{} expired, {} taken early", seen.expired_leases, seen.early_takeovers));
  out += line("  oldest", fmt::format("pending age {} in the end, {} at most", seconds(seen.oldest_pending()),
                                      seconds(seen.greatest_oldest_pending())));
  out += line("  delay", at_most(seen.longest_delay()) + allowed(objectives.longest_delay));
  out += line("  block", at_most(seen.longest_block()) + allowed(objectives.longest_block));
  return out;
}

}  // namespace halfsent
