#include "harness/core/verdict_json.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "harness/core/json_text.h"
#include "harness/core/test_bytes.h"
#include "harness/core/text.h"

namespace halfsent {
namespace {

Verdict back(const Verdict& verdict) {
  return verdict_from_json(parse_json_text(json_text(to_json(verdict)))->as_object());
}

TEST(VerdictJson, EveryPartComesBack) {
  const Verdict verdict{
      .keys = {{.key = "a", .kind = VerdictKind::ghost, .why = "why", .evidence = {3, 7}, .indeterminate = true},
               {.key = "b", .kind = VerdictKind::once}},
      .broken = {{.invariant = "drains", .key = "a", .why = "because", .evidence = {1}}},
      .judged = {"drains", "ghost"},
      .not_judged = {{.invariant = "attempts", .why = "not told"}},
      .not_reached = {"kill worker-1 at after_claim"},
      .inconclusive = {"worker-1 spins"},
      .notes = {"wrote outside the world"},
      .accepted = 1,
      .deduplicated = 2,
      .faults_planned = 3,
      .faults_fired = 4,
      .last_terminal = Nanoseconds(5)};
  EXPECT_EQ(back(verdict), verdict);
  EXPECT_EQ(back(Verdict{}), Verdict{});
}

TEST(VerdictJson, EveryKindComesBack) {
  for (int kind = 0; kind <= static_cast<int>(VerdictKind::ghost); ++kind) {
    const Verdict verdict{.keys = {{.key = "k", .kind = static_cast<VerdictKind>(kind)}}};
    EXPECT_EQ(back(verdict), verdict);
  }
}

RC_GTEST_PROP(VerdictJson, AnyBytesComeBackOnOneLineOfText, ()) {
  const Verdict verdict{.keys = {{.key = *any_bytes(), .kind = VerdictKind::lost, .why = *any_bytes()}}};
  const std::string text = json_text(to_json(verdict));
  RC_ASSERT(text.find('\n') == text.npos);
  RC_ASSERT(is_valid_utf8(text));
  RC_ASSERT(back(verdict) == verdict);
}

TEST(VerdictJson, AnErrorComesBack) {
  const Error error{.code = ExitCode::diverged, .message = "m", .mend = "do", .file = "f", .line = 3, .column = 4};
  EXPECT_EQ(error_from_json(to_json(error)), error);
  EXPECT_EQ(error_from_json(to_json(Error{.message = "m"})), Error{.message = "m"});
}

TEST(VerdictJson, WhatIsNoneIsRefused) {
  for (const std::string_view text : {R"({"keys":[{"key":"a"}]})", R"({"keys":[{"key":"a","kind":"odd"}]})",
                                      R"({"keys":3})", R"({"accepted":"many"})"}) {
    EXPECT_ANY_THROW(verdict_from_json(parse_json_text(text)->as_object())) << text;
  }
}

}  // namespace
}  // namespace halfsent
