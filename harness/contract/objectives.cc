#include "harness/contract/objectives.h"

#include <fmt/format.h>

#include <algorithm>

#include "harness/contract/sentences.h"
#include "harness/core/plan.h"

namespace halfsent {
namespace {

std::string delay_sentence(const Span& delay, Nanoseconds allowed) {
  const std::string what =
      delay.open
          ? fmt::format("{} was eligible at {} and neither accepted nor flagged when the execution ended, {} later",
                        quote_key(delay.key), in_seconds(delay.from), in_seconds(delay.length()))
          : fmt::format("{} was eligible at {} and accepted or flagged {} later", quote_key(delay.key),
                        in_seconds(delay.from), in_seconds(delay.length()));
  return fmt::format("{}; the scenario allows {}", what, format_duration(allowed));
}

std::string block_sentence(const Span& block, Nanoseconds allowed) {
  return fmt::format("the lease of {} on {} was abandoned at {} and {} {}; the scenario allows {}", block.holder,
                     quote_key(block.key), in_seconds(block.from),
                     block.open ? "still blocked the job when the execution ended, after" : "blocked the job for",
                     in_seconds(block.length()), format_duration(allowed));
}

class Comparison {
 public:
  explicit Comparison(Verdict& verdict) : verdict_(verdict) {}

  void number(std::string_view what, const std::optional<std::int64_t>& wanted, std::int64_t found,
              std::vector<Seq> evidence = {}) {
    if (!wanted || *wanted == found) return;
    verdict_.broken.push_back({.invariant = std::string(what),
                               .why = fmt::format("{} expected, {} found", *wanted, found),
                               .evidence = std::move(evidence)});
  }

 private:
  Verdict& verdict_;
};

std::int64_t in_state(const Operations& seen, JobState state) {
  return std::count_if(seen.jobs.begin(), seen.jobs.end(),
                       [state](const JobOperations& job) { return job.state == state; });
}

}  // namespace

void judge_objectives(const Operations& seen, const Objectives& objectives, bool whole, Verdict& verdict) {
  for (const Span& delay : seen.delays) {
    if (!objectives.longest_delay || delay.length() <= *objectives.longest_delay || (delay.open && !whole)) continue;
    verdict.broken.push_back({.invariant = "longest_delay",
                              .key = delay.key,
                              .why = delay_sentence(delay, *objectives.longest_delay),
                              .evidence = delay.evidence});
  }
  for (const Span& block : seen.blocks) {
    if (!objectives.longest_block || block.length() <= *objectives.longest_block || (block.open && !whole)) continue;
    verdict.broken.push_back({.invariant = "longest_block",
                              .key = block.key,
                              .why = block_sentence(block, *objectives.longest_block),
                              .evidence = block.evidence});
  }
}

void judge_expectations(const Operations& seen, const Expectations& expected, bool whole, Verdict& verdict) {
  if (!whole) return;
  Comparison compare(verdict);
  compare.number("jobs", expected.jobs, static_cast<std::int64_t>(seen.jobs.size()));
  compare.number("delivered", expected.delivered, in_state(seen, JobState::delivered));
  compare.number("flagged", expected.flagged, in_state(seen, JobState::flagged));
  compare.number("effects", expected.effects, seen.effects);
  compare.number("recognised", expected.recognised, seen.recognised);
  compare.number("expired_leases", expected.expired_leases, seen.expired_leases);
  compare.number("early_takeovers", expected.early_takeovers, seen.early_takeovers, seen.early_evidence);
  compare.number("other_keys", expected.other_keys, seen.other_keys, seen.other_keys_evidence);
  for (const auto& [key, wanted] : expected.attempts) {
    const auto job = std::find_if(seen.jobs.begin(), seen.jobs.end(),
                                  [&key = key](const JobOperations& candidate) { return candidate.key == key; });
    const std::int64_t found = job == seen.jobs.end() ? 0 : job->attempts;
    compare.number("attempts " + quote_key(key), wanted, found);
  }
  if (expected.oldest_pending && *expected.oldest_pending != seen.oldest_pending()) {
    verdict.broken.push_back({.invariant = "oldest_pending",
                              .why = fmt::format("{} expected, {} found", format_duration(*expected.oldest_pending),
                                                 in_seconds(seen.oldest_pending()))});
  }
}

}  // namespace halfsent
