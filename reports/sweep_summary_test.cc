#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reports/terminal.h"

namespace halfsent {
namespace {

using testing::HasSubstr;

SweepCellResult result(std::string name, std::string key, FaultKind kind, CellOutcome outcome, std::string actor = "w",
                       int status = 0) {
  return {.boundary = {.seq = 0, .name = std::move(name), .key = std::move(key), .actor = std::move(actor)},
          .fault = {.kind = kind, .target = "w", .status = status},
          .outcome = outcome};
}

TEST(SweepSummary, TheMatrixShowsWindowsByFaultsWithTheirTotals) {
  SweepSummary summary;
  summary.cells = {result("after_claim", "k", FaultKind::kill, CellOutcome::ok),
                   result("after_claim", "k", FaultKind::hold, CellOutcome::stuck),
                   result("after_accept", "k", FaultKind::kill, CellOutcome::duplicate),
                   result("after_accept", "k", FaultKind::hold, CellOutcome::not_reached),
                   result("after_accept", "k", FaultKind::drop, CellOutcome::flagged)};
  summary.executions = 6;
  summary.accepted = 7;
  summary.deduplicated = 1;
  summary.faults_planned = 5;
  summary.faults_fired = 4;
  summary.idle_left_out = 3;
  summary.without_windows = {FaultKind::skew, FaultKind::restart};
  EXPECT_EQ(sweep_summary(summary, Style{}),
            R"(window          kill       hold         drop
after_claim k   ok         stuck        n/a
after_accept k  DUPLICATE  not reached  flagged

2 windows, 6 executions: 1 ok, 1 flagged, 1 not reached, 1 stuck, 1 DUPLICATE, 1 n/a
7 effects accepted, 1 repeat recognised; 4 of 5 faults fired; 3 idle stops left out
not swept, because they strike at no window: skew restart
)");
}

TEST(SweepSummary, SeveralExecutionsInOneCellShowTheWorstAndHowMany) {
  SweepSummary summary;
  summary.cells = {result("in_mark", "k", FaultKind::kill, CellOutcome::ok),
                   result("in_mark", "k", FaultKind::kill, CellOutcome::lost, "v"),
                   result("in_mark", "j", FaultKind::kill, CellOutcome::ok),
                   result("in_mark", "j", FaultKind::kill, CellOutcome::ok, "v")};
  EXPECT_THAT(sweep_summary(summary, Style{}),
              testing::StartsWith("window     kill\nin_mark k  lost 1/2\nin_mark j  ok x2\n"));
}

TEST(SweepSummary, EachStatusIsAColumn) {
  SweepSummary summary;
  summary.cells = {result("before_accept", "", FaultKind::status, CellOutcome::phantom, "w", 301),
                   result("before_accept", "", FaultKind::status, CellOutcome::ok, "w", 503)};
  EXPECT_THAT(sweep_summary(summary, Style{}),
              testing::StartsWith("window         status 301  status 503\nbefore_accept  phantom     ok\n"));
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
