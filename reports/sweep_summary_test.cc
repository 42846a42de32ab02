#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reports/terminal.h"

namespace halfsent {
namespace {

using testing::HasSubstr;

SweepCellResult result(const char* name, const char* key, std::string column, CellOutcome outcome) {
  return {.boundary = Boundary{.seq = 0, .name = name, .key = key, .actor = "w"},
          .column = std::move(column),
          .outcome = outcome};
}

SweepSummary summary_of(std::vector<std::string> columns, std::vector<SweepCellResult> cells) {
  SweepSummary summary;
  summary.columns = std::move(columns);
  summary.cells = std::move(cells);
  return summary;
}

TEST(SweepSummary, TheMatrixShowsWindowsByFaultsWithTheirTotals) {
  SweepSummary summary =
      summary_of({"kill", "hold", "drop"}, {result("after_claim", "k", "kill", CellOutcome::ok),
                                            result("after_claim", "k", "hold", CellOutcome::stuck),
                                            result("after_accept", "k", "kill", CellOutcome::duplicate),
                                            result("after_accept", "k", "hold", CellOutcome::not_reached),
                                            result("after_accept", "k", "drop", CellOutcome::flagged)});
  summary.executions = 6;
  summary.accepted = 7;
  summary.deduplicated = 1;
  summary.faults_planned = 5;
  summary.faults_fired = 4;
  summary.idle_left_out = 3;
  summary.unused_columns = {"kill child", "kill, never back"};
  EXPECT_EQ(sweep_summary(summary, Style{}),
            R"(window          kill       hold         drop
after_claim k   ok         stuck        n/a
after_accept k  DUPLICATE  not reached  flagged

2 windows, 6 executions: 1 ok, 1 flagged, 1 not reached, 1 stuck, 1 DUPLICATE, 1 n/a
7 effects accepted, 1 repeat recognised; 4 of 5 faults fired; 3 idle stops left out
nothing here to strike at: kill child; kill, never back
)");
}

TEST(SweepSummary, SeveralExecutionsInOneCellShowTheWorstAndHowMany) {
  const auto summary = summary_of(
      {"kill"}, {result("in_mark", "k", "kill", CellOutcome::ok), result("in_mark", "k", "kill", CellOutcome::lost),
                 result("in_mark", "j", "kill", CellOutcome::ok), result("in_mark", "j", "kill", CellOutcome::ok)});
  EXPECT_THAT(sweep_summary(summary, Style{}),
              testing::StartsWith("window     kill\nin_mark k  lost 1/2\nin_mark j  ok x2\n"));
}

TEST(SweepSummary, WhatHoldsFromTheStartHasARowAndIsNoWindow) {
  SweepSummary summary = summary_of({"kill", "skew +"}, {result("in_mark", "k", "kill", CellOutcome::ok)});
  for (int actor = 0; actor < 2; ++actor)
    summary.cells.push_back({.boundary = std::nullopt, .column = "skew +", .outcome = CellOutcome::ok});
  const std::string text = sweep_summary(summary, Style{});
  EXPECT_THAT(text, HasSubstr("\nfrom the start  n/a   ok x2\n"));
  EXPECT_THAT(text, HasSubstr("\n1 window, "));
}

TEST(SweepSummary, LongHeadsStandInSeveralLinesOnTheirCells) {
  const auto summary =
      summary_of({"kill", "kill all, one back"}, {result("after_mark", "k", "kill", CellOutcome::ok),
                                                  result("after_mark", "k", "kill all, one back", CellOutcome::ok)});
  EXPECT_THAT(sweep_summary(summary, Style{}), testing::StartsWith(R"(                    kill all,
window        kill  one back
after_mark k  ok    ok
)"));
}

std::vector<std::size_t> line_widths(const std::string& text) {
  std::vector<std::size_t> widths;
  for (std::size_t begin = 0, end = 0; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1)
    widths.push_back(end - begin);
  return widths;
}

TEST(SweepSummary, AMatrixThatIsTooWideIsShownInPartsWithoutTheRowsThatSayNothingThere) {
  const auto summary = summary_of({"kill", "hold", "drop"}, {result("after_claim", "k", "kill", CellOutcome::ok),
                                                             result("after_claim", "k", "hold", CellOutcome::duplicate),
                                                             result("after_accept", "k", "drop", CellOutcome::ok)});
  EXPECT_THAT(sweep_summary(summary, Style{.colour = false, .width = 40}),
              testing::StartsWith(R"(window          kill  hold       drop
after_claim k   ok    DUPLICATE  n/a
after_accept k  n/a   n/a        ok

)"));
  EXPECT_THAT(sweep_summary(summary, Style{.colour = false, .width = 34}),
              testing::StartsWith(R"(window         kill  hold
after_claim k  ok    DUPLICATE

window          drop
after_accept k  ok

)"));
}

TEST(SweepSummary, NoLineOfTheMatrixIsWiderThanItsTerminalEvenWithLongKeys) {
  SweepSummary summary;
  const std::string long_key(200, 'k');
  for (int i = 0; i < 20; ++i) {
    summary.columns.push_back("column " + std::to_string(i));
    summary.cells.push_back(
        result("after_accept", long_key.c_str(), summary.columns.back(), CellOutcome::inconclusive));
  }
  for (int width = 40; width < 200; ++width) {
    const std::string text = sweep_summary(summary, Style{.colour = false, .width = width});
    const std::string matrix = text.substr(0, text.find("1 window,"));
    // "…" takes three bytes and one column.
    EXPECT_THAT(line_widths(matrix), testing::Each(testing::Le(static_cast<std::size_t>(width) + 2))) << text;
  }
}

TEST(SweepSummary, NoCellsIsSaidAndCountsNoPass) {
  EXPECT_EQ(
      sweep_summary(SweepSummary{}, Style{}),
      "no window was swept\n0 windows, 0 executions: 0 ok, 0 n/a\n0 effects accepted, 0 repeats recognised; 0 of 0 "
      "faults fired\n");
}

TEST(CellOutcome, IsTheGravestThingTheVerdictSays) {
  Verdict verdict;
  EXPECT_EQ(cell_outcome(verdict), CellOutcome::not_reached);
  verdict.keys.emplace_back();
  EXPECT_EQ(cell_outcome(verdict), CellOutcome::ok);
  verdict.keys.emplace_back().kind = VerdictKind::flagged;
  EXPECT_EQ(cell_outcome(verdict), CellOutcome::flagged);
  verdict.not_reached = {"kill"};
  EXPECT_EQ(cell_outcome(verdict), CellOutcome::not_reached);
  verdict.inconclusive = {"died"};
  EXPECT_EQ(cell_outcome(verdict), CellOutcome::inconclusive);
  for (const auto& [kind, outcome] :
       {std::pair{VerdictKind::stuck, CellOutcome::stuck}, std::pair{VerdictKind::lost, CellOutcome::lost},
        std::pair{VerdictKind::phantom, CellOutcome::phantom},
        std::pair{VerdictKind::duplicate, CellOutcome::duplicate}}) {
    verdict.keys.emplace_back().kind = kind;
    EXPECT_EQ(cell_outcome(verdict), outcome);
  }
}

}  // namespace
}  // namespace halfsent
