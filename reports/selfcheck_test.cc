#include "reports/selfcheck.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace halfsent {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

DefectReport caught(int executions) {
  return {.id = "M38",
          .name = "mark-before-send",
          .noticed = Noticed::caught,
          .verdict = "phantom",
          .plan = "kill worker-1 at before_send k",
          .executions = executions,
          .seconds = 0.52};
}

TEST(Selfcheck, ALineSaysWhatWasFoundByWhatAndAtWhichCost) {
  EXPECT_EQ(defect_line(caught(19), 20, {}),
            "M38   mark-before-send      caught   phantom                  19 executions    0.5 s  kill worker-1 at "
            "before_send k\n");
}

TEST(Selfcheck, AVerdictFromOutsideCannotBreakTheLine) {
  DefectReport crashed = caught(0);
  crashed.noticed = Noticed::crashed;
  crashed.verdict = "a\n\x1b[31mb";
  EXPECT_THAT(defect_line(crashed, 0, {}), HasSubstr("CRASHED  a\\n\\x1b[31mb"));
}

TEST(Selfcheck, AnythingThatIsNotCaughtOrAllowedIsNotGood) {
  for (const Noticed noticed : {Noticed::missed, Noticed::wrong, Noticed::crashed}) {
    SelfcheckReport report{.defects = {caught(1)}, .references = {}};
    report.defects.push_back({.id = "M99", .name = "control", .noticed = Noticed::allowed, .verdict = {}, .plan = {}});
    EXPECT_TRUE(is_good(report));
    report.defects.back().noticed = noticed;
    EXPECT_FALSE(is_good(report));
  }
}

TEST(Selfcheck, TheRightSystemMustBeAccusedOfNothing) {
  SelfcheckReport report{.defects = {caught(1)},
                         .references = {{.name = "M38", .executions = 9, .held = 9, .accused = {}}}};
  EXPECT_TRUE(is_good(report));
  EXPECT_EQ(reference_line(report.references[0], {}), "held     9 executions, 9 held  M38\n");
  report.references[0].accused = "lost: scenario s; seed 1";
  EXPECT_FALSE(is_good(report));
  EXPECT_THAT(reference_line(report.references[0], {}), StartsWith("ACCUSED  9 executions"));
}

TEST(Selfcheck, TotalsCountAndTellTheMedian) {
  const SelfcheckReport report{.defects = {caught(1), caught(30), caught(7)}, .references = {}, .seconds = 61.4};
  EXPECT_EQ(selfcheck_totals(report, {}),
            "3 defects: 3 caught, 0 by their plan only, 0 allowed, 0 missed, 0 wrong, 0 crashed; median 7 executions "
            "to a catch; 61 s\n");
}

}  // namespace
}  // namespace halfsent
