#include "harness/core/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <set>

#include "harness/core/boundary.h"
#include "harness/core/test_bytes.h"

namespace halfsent {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

Fault only_fault(std::string_view text) {
  const auto plan = parse_plan("scenario s;" + std::string(text));
  if (!plan) {
    ADD_FAILURE() << plan.error().to_string();
    return {};
  }
  EXPECT_EQ(plan->faults.size(), 1U);
  return plan->faults.front();
}

Error error_of(std::string_view text) {
  const auto plan = parse_plan(text);
  if (plan) {
    ADD_FAILURE() << "accepted: " << text;
    return {};
  }
  EXPECT_EQ(plan.error().code, ExitCode::usage);
  return plan.error();
}

TEST(Plan, TheLineOfTheDesignIsRead) {
  const auto plan = parse_plan(
      "scenario polling_python; seed 7; kill worker-1 at after_accept 4187:2026-W33; "
      "hold worker-2 at before_mark 4188:2026-W33 for 61s");
  ASSERT_TRUE(plan.has_value()) << plan.error().to_string();
  const Fault kill{.kind = FaultKind::kill, .target = "worker-1", .at = Anchor{"after_accept", "4187:2026-W33", 1}};
  const Fault hold{
      .kind = FaultKind::hold, .target = "worker-2", .at = Anchor{"before_mark", "4188:2026-W33", 1}, .duration = 61s};
  EXPECT_EQ(*plan, (Plan{.scenario = "polling_python", .seed = 7, .faults = {kill, hold}}));
}

TEST(Plan, LinesCommentsAndEmptyClausesAreFree) {
  const auto plan = parse_plan(
      "# found on a Tuesday; \"never closed\n\n  scenario s\r\n\t# kill nobody\n;; term w at after_claim #2;\n#");
  ASSERT_TRUE(plan.has_value()) << plan.error().to_string();
  EXPECT_EQ(*plan, (Plan{.scenario = "s",
                         .seed = 1,
                         .faults = {{.kind = FaultKind::term, .target = "w", .at = Anchor{"after_claim", "", 2}}}}));
}

TEST(Plan, AKeyWithQuotesAndNulRoundTrips) {
  Plan plan{.scenario = "s", .seed = 1, .faults = {}};
  const std::string key("a\"b\0;#\n\xff", 8);
  plan.faults.push_back({.kind = FaultKind::kill, .target = "w", .at = Anchor{"after_accept", key}});
  const std::string text = to_string(plan);
  EXPECT_EQ(text, R"(scenario s; seed 1; kill w at after_accept "a\"b\u0000;#\n\udcff")");
  EXPECT_EQ(*parse_plan(text), plan);
}

TEST(Plan, AKeyThatIsTheWordForIsQuoted) {
  const Fault fault = only_fault(R"(hold w at after_claim "for" for 5s)");
  EXPECT_EQ(fault.at->key, "for");
  EXPECT_EQ(to_string(fault), R"(hold w at after_claim "for" for 5s)");
}

TEST(Plan, AKeyThatLooksLikeANumberOfTimesIsQuoted) {
  EXPECT_EQ(only_fault(R"(kill w at after_claim "#2" #3)").at, (Anchor{"after_claim", "#2", 3}));
}

TEST(Plan, ThenStandsBeforeAFaultThatComesAfterAnother) {
  const std::string text =
      "scenario s; seed 1; kill w at in_claim k #4; restart w after 1min; then kill w at before_claim k";
  const auto plan = parse_plan(text);
  ASSERT_TRUE(plan.has_value()) << plan.error().to_string();
  EXPECT_FALSE(plan->faults[0].then);
  EXPECT_TRUE(plan->faults[2].then);
  EXPECT_EQ(to_string(*plan), text);
  for (const char* wrong : {"scenario s; then kill w at after_claim", "scenario s; kill w at after_claim; then",
                            "scenario s; kill w at after_claim; then skew w 3s", "scenario s; then seed 3"})
    EXPECT_FALSE(parse_plan(wrong)) << wrong;
}

std::string any_boundary() {
  const auto known = boundary_table();
  if (*rc::gen::inRange(0, 4) == 0) return "at:" + *any_bytes();
  return std::string(known[*rc::gen::inRange<std::size_t>(0, known.size())].name);
}

Fault any_fault(FaultKind kind) {
  Fault fault{.kind = kind};
  const FaultInfo& known = info(fault.kind);
  const bool strikes_downstream = known.target == FaultInfo::Target::downstream;
  const auto is_name = [](const std::string& name) {
    return !name.empty() && name != "downstream" && name != "ledger";
  };
  fault.target = strikes_downstream     ? "downstream"
                 : strikes_ledger(kind) ? "ledger"
                                        : *rc::gen::suchThat(any_bytes(), is_name);
  if (known.needs_anchor || *rc::gen::arbitrary<bool>()) {
    fault.at = Anchor{.boundary = any_boundary(), .key = *any_bytes(), .occurrence = *rc::gen::inRange(1, 1 << 30)};
    if (strikes_downstream) fault.at->boundary = *rc::gen::element<std::string>("before_accept", "after_accept");
  }
  const auto positive = rc::gen::map(rc::gen::positive<std::int64_t>(), [](std::int64_t n) { return Nanoseconds(n); });
  const auto any_length =
      rc::gen::map(rc::gen::arbitrary<std::int64_t>(), [](std::int64_t n) { return Nanoseconds(n); });
  if (known.needs_duration) fault.duration = *positive;
  if (fault.kind == FaultKind::refuse && *rc::gen::arbitrary<bool>()) fault.duration = *positive;
  if (fault.kind == FaultKind::skew || fault.kind == FaultKind::step) fault.duration = *any_length;
  if (fault.kind == FaultKind::kill) fault.scope = static_cast<KillScope>(*rc::gen::inRange(0, 4));
  if (fault.kind == FaultKind::io_error) fault.io_error = static_cast<IoError>(*rc::gen::inRange(0, 2));
  if (fault.kind == FaultKind::failover) fault.lost = *rc::gen::inRange(0, 1 << 30);
  if (fault.kind == FaultKind::status) fault.status = *rc::gen::inRange(200, 600);
  if (fault.kind == FaultKind::restart) {
    fault.restart = static_cast<RestartMode>(*rc::gen::inRange(0, 3));
    if (fault.restart == RestartMode::after && *rc::gen::arbitrary<bool>()) fault.duration = *positive;
  }
  return fault;
}

RC_GTEST_PROP(Plan, EveryValidPlanComesBackFromItsText, ()) {
  Plan plan{.scenario = *any_bytes(), .seed = *rc::gen::arbitrary<std::uint64_t>(), .faults = {}};
  for (const FaultInfo& known : fault_table()) {
    if (!*rc::gen::arbitrary<bool>()) continue;
    Fault fault = any_fault(known.kind);
    const bool follows = std::ranges::any_of(plan.faults, [](const Fault& before) { return before.at.has_value(); });
    fault.then = follows && fault.at && *rc::gen::arbitrary<bool>();
    plan.faults.push_back(std::move(fault));
  }
  const std::string text = to_string(plan);
  const auto back = parse_plan(text);
  if (!back) RC_FAIL(back.error().to_string() + "\n" + text);
  RC_ASSERT(*back == plan);
  RC_ASSERT(text.find('\n') == text.npos);
}

RC_GTEST_PROP(Plan, AnyBytesAreReadOrRefusedWithAPosition, ()) {
  const auto plan =
      parse_plan(*rc::gen::element<std::string>("", "scenario s;", "scenario s;kill w at ") + *any_bytes());
  RC_ASSERT(plan.has_value() || (plan.error().line > 0 && plan.error().column > 0 && !plan.error().message.empty()));
}

TEST(FaultTable, EveryExampleIsCanonicalAndOfItsKind) {
  std::set<std::string_view> names;
  for (const FaultInfo& known : fault_table()) {
    const Fault fault = only_fault(known.example);
    EXPECT_EQ(fault.kind, known.kind);
    EXPECT_EQ(to_string(fault), known.example);
    EXPECT_EQ(&info(known.kind), &known);
    EXPECT_TRUE(known.syntax.starts_with(known.name)) << known.syntax;
    EXPECT_TRUE(names.insert(known.name).second);
    EXPECT_EQ(known.needs_anchor, known.syntax.find("[at ") == known.syntax.npos) << known.syntax;
    EXPECT_EQ(known.needs_duration, known.syntax.ends_with("] for D")) << known.syntax;
  }
}

TEST(FaultTable, WhatIsOptionalMayBeLeftOutOrGiven) {
  EXPECT_EQ(only_fault("kill w process at after_claim k").scope, KillScope::process);
  EXPECT_EQ(only_fault("kill w child at after_claim k").scope, KillScope::child);
  EXPECT_EQ(only_fault("kill w root at after_claim k").scope, KillScope::root);
  EXPECT_EQ(to_string(only_fault("kill w tree at after_claim k #1")), "kill w at after_claim k");
  EXPECT_EQ(only_fault("refuse w").duration, 0s);
  EXPECT_EQ(to_string(only_fault("refuse w for 3s")), "refuse w for 3s");
  EXPECT_EQ(to_string(only_fault("refuse w at after_claim for 3s")), "refuse w at after_claim for 3s");
  EXPECT_EQ(to_string(only_fault("skew w -90s at after_claim k")), "skew w -90s at after_claim k");
  EXPECT_EQ(to_string(only_fault("restart w never")), "restart w never");
  EXPECT_EQ(to_string(only_fault("restart w while_peer_lives at after_claim")),
            "restart w while_peer_lives at after_claim");
  EXPECT_EQ(to_string(only_fault("restart w after 0ns")), "restart w after 0s");
  EXPECT_EQ(only_fault("kill process process at at:process process").at, (Anchor{"at:process", "process", 1}));
}

TEST(FaultTable, AKillOfAllIsReadAndTakesWholeTrees) {
  const Fault fault = only_fault("kill all at in_claim 4187:2026-W33 #5");
  EXPECT_EQ(fault, (Fault{.kind = FaultKind::kill,
                          .target = std::string(all_actors),
                          .at = Anchor{"in_claim", "4187:2026-W33", 5},
                          .scope = KillScope::tree}));
  EXPECT_EQ(to_string(fault), "kill all at in_claim 4187:2026-W33 #5");
  EXPECT_EQ(only_fault("kill all tree at in_claim 4187:2026-W33 #5"), fault);
}

struct Refused {
  std::string text;
  int line;
  int column;
  std::string message;
  std::string mend;
};

void expect_refused(const std::vector<Refused>& cases) {
  for (const Refused& refused : cases) {
    const Error error = error_of(refused.text);
    EXPECT_EQ(error.line, refused.line) << refused.text << "\n" << error.to_string();
    EXPECT_EQ(error.column, refused.column) << refused.text << "\n" << error.to_string();
    EXPECT_THAT(error.message, HasSubstr(refused.message)) << refused.text;
    EXPECT_THAT(error.mend, HasSubstr(refused.mend)) << refused.text;
  }
}

TEST(PlanErrors, AWrongWordIsNamedWithItsPositionAndTheNearestOne) {
  expect_refused({
      {"scenario s; kil w at after_claim", 1, 13, "'kil' is not an action", "did you mean 'kill'?"},
      {"scenario s\n\n  hodl w at after_claim", 3, 3, "'hodl' is not an action", "did you mean 'hold'?"},
      {"scenario s; xyzzy w", 1, 13, "'xyzzy'", "known: seed, kill, hold, term, switch, drop"},
      {"scenario s; kill w at aftr_acept k", 1, 23, "'aftr_acept' is not a boundary", "did you mean 'after_accept'?"},
      {"scenario s; kill w at moon k", 1, 23, "'moon' is not a boundary", "known: before_schedule, in_schedule"},
      {"scenario s; drop downstream at after_claim k", 1, 32, "of the downstream",
       "known: before_accept, after_accept"},
      {"scenario s; kill w ta after_claim", 1, 20, "'at BOUNDARY' is expected here, not 'ta'", "kill ACTOR"},
      {"scenario s; refuse w fro 3s", 1, 22, "'fro' is not expected here", "did you mean 'for'?"},
      {"scenario s; drop downstraem at after_accept", 1, 18, "'downstream' is expected here", "drop downstream at"},
      {"scenario s; kill downstream at after_accept", 1, 18, "strikes an actor", "kill ACTOR"},
      {"scenario s; restart w sometimes", 1, 23, "'never'", "restart ACTOR"},
  });
}

TEST(PlanErrors, WhatIsMissingIsNamedWhereItIsMissing) {
  expect_refused({
      {"", 1, 1, "empty", "scenario NAME"},
      {"# nothing\n", 1, 1, "empty", "scenario NAME"},
      {"kill w at after_claim", 1, 1, "begins with its scenario", "scenario NAME"},
      {"scenario", 1, 9, "the scenario's name is expected here", "scenario NAME"},
      {"scenario s; kill", 1, 17, "the name of an actor is expected", "kill ACTOR"},
      {"scenario s; kill w", 1, 19, "'at BOUNDARY' is expected here", "kill ACTOR"},
      {"scenario s; kill w at", 1, 22, "the name of a boundary is expected", "kill ACTOR"},
      {"scenario s; hold w at after_claim k; seed 3", 1, 36, "'for D' is expected here", "hold ACTOR"},
      {"scenario s; hold w at after_claim k for", 1, 40, "a duration above 0 is expected", "hold ACTOR"},
      {"scenario s; restart w after", 1, 28, "a duration from 0 is expected", "restart ACTOR"},
      {"scenario s; status downstream at after_accept", 1, 31, "a final HTTP status", "status downstream N"},
      {"scenario s; step w 5s", 1, 22, "'at BOUNDARY'", "step ACTOR"},
  });
}

TEST(PlanErrors, WhatIsTooMuchOrOutOfRangeIsRefused) {
  expect_refused({
      {"scenario s; scenario t", 1, 13, "two scenarios", "one"},
      {"scenario s t", 1, 12, "'t' is not expected here", "scenario NAME"},
      {"scenario s; seed 1; seed 2", 1, 21, "two seeds", "one"},
      {"scenario s; seed -1", 1, 18, "whole number", "seed N"},
      {"scenario s; seed 18446744073709551616", 1, 18, "whole number", "seed N"},
      {"scenario s; kill w at after_claim k #0", 1, 37, "a number from #1", "kill ACTOR"},
      {"scenario s; kill w at after_claim k #9999999999", 1, 37, "a number from #1", "kill ACTOR"},
      {"scenario s; kill w at after_claim k l", 1, 37, "'l' is not expected", "kill ACTOR"},
      {"scenario s; kill w at after_claim k for 3s", 1, 37, "'for' is not expected", "kill ACTOR"},
      {"scenario s; hold w at after_claim k for 0s", 1, 41, "above 0", "hold ACTOR"},
      {"scenario s; hold w at after_claim k for -5s", 1, 41, "above 0", "hold ACTOR"},
      {"scenario s; hold w at after_claim k for 5", 1, 41, "no unit", "61s"},
      {"scenario s; status downstream 99 at after_accept", 1, 31, "from 200 to 599", "status"},
      {"scenario s; status downstream 600 at after_accept", 1, 31, "from 200 to 599", "status"},
      {"scenario s; # a late comment", 1, 13, "a line of its own", "new line"},
      {"scenario s; kill \"\" at after_claim", 1, 18, "the name of an actor", "kill ACTOR"},
      {"scenario s; \"kill\" w at after_claim", 1, 13, "'kill' is not an action", "known"},
      {"scenario s; kill all child at after_claim", 1, 22, "whole trees, not a child", "leave out 'child'"},
      {"scenario s; kill all process at after_claim", 1, 22, "whole trees, not a process", "name one actor"},
  });
}

TEST(PlanErrors, ABrokenStringIsNamedWhereItBegins) {
  expect_refused({
      {"scenario s; kill w at after_claim \"k; seed 3\n", 1, 35, "never closed", "quote"},
      {"scenario s; kill w at after_claim \"k\\\"", 1, 35, "never closed", "quote"},
      {"scenario s;\nkill w at after_claim \"a\nb\"", 2, 23, "not a JSON string", "\\n for a new line"},
      {"scenario s; kill w at after_claim \"\\q\"", 1, 35, "not a JSON string", "\\udcXX"},
      {"scenario s; kill w at after_claim \"\xff\"", 1, 35, "not UTF-8", "\\udcXX"},
      {"scenario s; kill w at after_claim a\"b\"", 1, 36, "inside a word", "whole word"},
      {"scenario s; kill w at after_claim \"b\"a", 1, 38, "without a space", "space"},
      {"scenario s; kill w at after_claim a/b", 1, 35, "'a/b' is not a bare word", "JSON string"},
      {"scenario \"\xe2\x82\xac\"; kil", 1, 15, "'kil'", "kill"},  // columns count characters
  });
}

TEST(PlanErrors, HostileWordsAreShownEscapedAndCutShort) {
  const Error error = error_of("scenario s; \x1b[31m" + std::string(500, 'x'));
  EXPECT_THAT(error.message, HasSubstr("'\\x1b[31mxxx"));
  EXPECT_LT(error.message.size(), 120U);
}

TEST(Duration, IsWrittenInTheLargestUnitThatDividesIt) {
  EXPECT_EQ(format_duration(61s), "61s");
  EXPECT_EQ(format_duration(60s), "1min");
  EXPECT_EQ(format_duration(1500ms), "1500ms");
  EXPECT_EQ(format_duration(2h), "2h");
  EXPECT_EQ(format_duration(1us), "1us");
  EXPECT_EQ(format_duration(1ns), "1ns");
  EXPECT_EQ(format_duration(0s), "0s");
  EXPECT_EQ(format_duration(-5s), "-5s");
  EXPECT_EQ(format_duration(Nanoseconds::min()), "-9223372036854775808ns");
}

RC_GTEST_PROP(Duration, ComesBackFromItsText, (std::int64_t number, std::uint8_t shift)) {
  const Nanoseconds duration(number >> (shift % 64));
  RC_ASSERT(*parse_duration(format_duration(duration)) == duration);
  const Nanoseconds seconds = std::chrono::seconds(duration.count() / 1'000'000'000);
  RC_ASSERT(*parse_duration(format_duration(seconds)) == seconds);
  RC_ASSERT(*parse_duration(format_duration(Nanoseconds::min())) == Nanoseconds::min());
}

TEST(Duration, RefusesWhatIsNoNumberWithAUnitOrTooLong) {
  for (const std::string_view text : {"", "-", "s", "5", "5 s", "5m", "1.5s", "+5s", "5sec", "--5s", "9223372037s",
                                      "9223372036854775808ns", "99999999999999999999999h", "2562048h"}) {
    EXPECT_FALSE(parse_duration(text).has_value()) << text;
  }
  EXPECT_EQ(*parse_duration("9223372036s"), 9223372036s);
  EXPECT_EQ(*parse_duration("9223372036854775807ns"), Nanoseconds::max());
  EXPECT_EQ(*parse_duration("-2562047h"), -2562047h);
}

TEST(QuoteKey, IsBareWhereItCanBe) {
  EXPECT_EQ(quote_key("4187:2026-W33"), "4187:2026-W33");
  EXPECT_EQ(quote_key("a b"), "\"a b\"");
  EXPECT_EQ(quote_key(""), "\"\"");
  EXPECT_EQ(quote_key("\x1b[31m"), "\"\\u001b[31m\"");
}

TEST(Nearest, FindsSlipsAndNothingFarAway) {
  const std::vector<std::string> names = {"kill", "hold", "term", "after_accept", "before_accept"};
  EXPECT_EQ(nearest("kil", names), "kill");
  EXPECT_EQ(nearest("hodl", names), "hold");
  EXPECT_EQ(nearest("after-accept", names), "after_accept");
  EXPECT_EQ(nearest("afteraccept", names), "after_accept");
  EXPECT_EQ(nearest("xyzzy", names), "");
  EXPECT_EQ(nearest("", names), "");
  EXPECT_EQ(nearest(std::string(100000, 'k'), names), "");
  EXPECT_EQ(nearest("a", std::vector<std::string>{"b"}), "");
}

TEST(FaultKinds, AListIsReadInAnyOrderAndAllIsEveryOne) {
  EXPECT_EQ(*parse_fault_kinds("drop,kill,drop"), (std::vector{FaultKind::kill, FaultKind::drop}));
  EXPECT_EQ(*parse_fault_kinds("all"), every_fault_kind());
  EXPECT_EQ(every_fault_kind().size(), fault_table().size());
}

TEST(FaultKinds, AnUnknownOneIsNamedWithTheNearest) {
  for (const char* list : {"", "kill,", "kill,,drop", "kill, drop", "all,kill"})
    EXPECT_FALSE(parse_fault_kinds(list)) << list;
  const auto wrong = parse_fault_kinds("kill,restrt");
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().code, ExitCode::usage);
  EXPECT_EQ(wrong.error().message, "'restrt' is not a fault");
  EXPECT_TRUE(wrong.error().mend.starts_with("did you mean 'restart'? write `all`, or some of kill, hold, "));
}

}  // namespace
}  // namespace halfsent
