// The rules of what is demanded of numbers: [objectives], [drill] and [[run]].
#include <fmt/format.h>

#include <algorithm>

#include "harness/scenario/schema.h"

namespace halfsent {
namespace {

namespace fs = std::filesystem;

template <std::optional<Nanoseconds> Objectives::*member>
void objective(Draft& draft, const Duration& value) {
  if (value.value <= Nanoseconds{0}) {
    draft.fail(value.at, fmt::format("an objective must be longer than 0, not {}", format_duration(value.value)),
               R"(write a duration such as "2min")");
  }
  draft.scenario.objectives.*member = value.value;
}

void drill_name(Draft& draft, const Text& name) {
  if (!is_bare(name.value)) {
    draft.fail(name.at, fmt::format("drill.name {} cannot be written in a plan", shown(name.value)),
               "use letters, digits and : . _ -");
  }
  draft.scenario.name = name.value;
}

void add_systems(Draft& draft, const Texts& paths, std::vector<fs::path>& into) {
  for (const Text& path : paths.value) {
    const fs::path absolute = draft.resolve(path.value);
    std::error_code ignored;
    if (path.value.empty() || !fs::is_regular_file(absolute, ignored)) {
      draft.fail(path.at, fmt::format("there is no scenario file {}", shown(path.value)),
                 "paths are relative to this drill's file");
    } else {
      into.push_back(absolute);
    }
  }
}

void drill_systems(Draft& draft, const Texts& paths) { add_systems(draft, paths, draft.scenario.systems); }

void drill_fails(Draft& draft, const Texts& paths) { add_systems(draft, paths, draft.scenario.failing_systems); }

void run_plan(Draft& draft, const Text& text) {
  Result<Plan> plan = parse_plan("scenario drill\n" + text.value);
  if (!plan) {
    draft.fail(text.at, "run.plan: " + plan.error().message,
               plan.error().mend.empty() ? "write faults only; the drill names the scenario" : plan.error().mend);
    return;
  }
  draft.scenario.runs.back().plan = std::move(*plan);
}

template <std::optional<std::int64_t> Expectations::*member>
void expected(Draft& draft, const Number& number) {
  if (number.value < 0) draft.fail(number.at, "a number of things is 0 or more", "write how many there must be");
  draft.scenario.runs.back().expected.*member = number.value;
}

void expected_oldest(Draft& draft, const Duration& value) {
  if (value.value < Nanoseconds{0}) draft.fail(value.at, "an age is 0 or more", R"(write "0s" for nothing pending)");
  draft.scenario.runs.back().expected.oldest_pending = value.value;
}

void expected_attempts(Draft& draft, const NumberTable& table) {
  for (const auto& [key, number] : table.value) {
    if (number.value < 0) draft.fail(number.at, "a number of attempts is 0 or more", "write how many there must be");
    draft.scenario.runs.back().expected.attempts[key.value] = number.value;
  }
}

constexpr Rule table[] = {
    {"objectives", "longest_delay", false,
     "From when a job is eligible to its acceptance by the downstream (or its flag): longer is a violation.",
     objective<&Objectives::longest_delay>},
    {"objectives", "longest_block", false,
     "How long an abandoned lease may keep its job from everybody, from the death of its holder: longer is a "
     "violation.",
     objective<&Objectives::longest_block>},
    {"objectives", "pending_target", false,
     "A job that is open for longer is counted as past the target; no violation.",
     objective<&Objectives::pending_target>},
    {"drill", "name", true, "How plans call the drill, before the name of the system: staging_drill.polling_python.",
     drill_name},
    {"drill", "description", false, "One sentence for people.",
     [](Draft& draft, const Text& text) { draft.scenario.description = text.value; }},
    {"drill", "systems", false,
     "The scenario files of systems for which it must hold; one at least here or under fails. A drill takes all but "
     "what it says itself from the system; "
     "an [[actor]] of the same name is changed, another one is added.",
     drill_systems},
    {"drill", "fails", false, "The scenario files of systems for which it must be violated.", drill_fails},
    {"run", "plan", true, "The faults of one execution, as in a plan without its scenario; \"\" is none.", run_plan},
    {"run", "jobs", false, "How many jobs there are in the end.", expected<&Expectations::jobs>},
    {"run", "delivered", false, "How many are delivered.", expected<&Expectations::delivered>},
    {"run", "flagged", false, "How many are flagged.", expected<&Expectations::flagged>},
    {"run", "effects", false, "How many requests the downstream accepted as new.", expected<&Expectations::effects>},
    {"run", "recognised", false, "How many requests it accepted as repeats, by their key.",
     expected<&Expectations::recognised>},
    {"run", "expired_leases", false, "How many leases ran out before their holder wrote an outcome.",
     expected<&Expectations::expired_leases>},
    {"run", "early_takeovers", false, "How many leases were taken from their holder before they ran out.",
     expected<&Expectations::early_takeovers>},
    {"run", "other_keys", false, "How many requests carried another key than their job's, or none.",
     expected<&Expectations::other_keys>},
    {"run", "oldest_pending", false, "The age of the oldest job that waits in the end; \"0s\" is none.",
     expected_oldest},
    {"run", "attempts", false, "How many attempts each of these keys needed.", expected_attempts},
};

}  // namespace

std::span<const Rule> drill_rules() { return table; }

}  // namespace halfsent
