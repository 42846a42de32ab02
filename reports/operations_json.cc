#include "reports/operations_json.h"

#include <fmt/format.h>

#include "harness/core/text.h"

namespace halfsent {
namespace {

std::string in_quotes(std::string_view text) {
  std::string out;
  append_json_string(out, text);
  return out;
}

std::string span(const Span* span) {
  if (span == nullptr) return "null";
  return fmt::format(R"({{"key":{},"holder":{},"from":{},"to":{},"open":{}}})", in_quotes(span->key),
                     in_quotes(span->holder), span->from.count(), span->to.count(), span->open);
}

}  // namespace

std::string operations_json(const Operations& seen) {
  std::string out = fmt::format(
      R"({{"version":1,"end":{},"effects":{},"recognised":{},"expired_leases":{},"early_takeovers":{},)"
      R"("other_keys":{},)",
      seen.end.count(), seen.effects, seen.recognised, seen.expired_leases, seen.early_takeovers, seen.other_keys);
  out += fmt::format(R"("oldest_pending":{},"greatest_oldest_pending":{},"longest_delay":{},"longest_block":{},)",
                     seen.oldest_pending().count(), seen.greatest_oldest_pending().count(), span(seen.longest_delay()),
                     span(seen.longest_block()));
  out += "\n\"jobs\":[";
  for (const JobOperations& job : seen.jobs)
    out += fmt::format("{}\n{{\"key\":{},\"state\":{},\"attempts\":{},\"eligible\":{}}}", out.ends_with('[') ? "" : ",",
                       in_quotes(job.key), in_quotes(to_string(job.state)), job.attempts, job.eligible.count());
  out += "],\n\"series\":[";
  for (const BoardPoint& point : seen.series)
    out += fmt::format(
        "{}\n{{\"at\":{},\"pending\":{},\"leased\":{},\"expired\":{},\"delivered\":{},\"flagged\":{},\"past_target\":{}"
        ","
        "\"oldest_waiting_since\":{},\"attempts\":{}}}",
        out.ends_with('[') ? "" : ",", point.at.count(), point.pending, point.leased, point.expired, point.delivered,
        point.flagged, point.past_target, point.oldest_waiting.count(), point.attempts);
  return out + "]}\n";
}

}  // namespace halfsent
