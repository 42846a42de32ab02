#include "harness/contract/testing.h"

namespace halfsent {
namespace {

HistoryBuilder delivered() {
  HistoryBuilder h;
  h.schedules("k").by("w").claims("k").delivers(1, "k").at(1s).marks("k");
  return h;
}

TEST(Drains, ASettledLedgerThatRestsHolds) {
  EXPECT_EQ(told(ask_run(judge_drains, delivered().finishes("drained"))), "");
  EXPECT_EQ(told(ask_run(judge_drains, delivered().finishes("all exited"))), "");
  EXPECT_EQ(told(ask_run(judge_drains, delivered().at(30min).finishes("horizon"))), "");
}

TEST(Drains, AJobThatIsStillOpenIsAMatterOfTheJob) {
  HistoryBuilder h = delivered();
  h.at(2s).by("scheduler-1").schedules("late");
  EXPECT_EQ(told(ask_run(judge_drains, h.at(30min).finishes("horizon"))), "");
}

TEST(Drains, ALedgerThatChangesForEverIsToldEvenIfNothingIsOpen) {
  HistoryBuilder h = delivered();
  for (int n = 1; n < 30; ++n) h.at(n * 1min).by("w").schedules("k" + std::to_string(n)).marks("k" + std::to_string(n));
  EXPECT_THAT(told(ask_run(judge_drains, h.at(30min).finishes("horizon"))),
              testing::HasSubstr("the ledger still changed; the last change was k29, marked delivered by w"));
}

TEST(Drains, FaultsThatGoOnUntilTheEndLeaveNoTime) {
  const Plan plan{.scenario = "s", .seed = 1, .faults = {Fault{.kind = FaultKind::refuse, .target = "w"}}};
  HistoryBuilder h;
  h.by("w").fires(0, "refuse w").by("").schedules("k").at(30min - 1s).changes("k", JobState::pending, JobState::leased);
  EXPECT_EQ(told(ask_run(judge_drains, h.at(30min).finishes("horizon"), honouring(), plan)),
            "not judged: faults went on until the end");
}

TEST(Drains, IsNotClaimedOfAnExecutionThatWasCutShort) {
  HistoryBuilder h;
  h.schedules("k");
  EXPECT_EQ(told(ask_run(judge_drains, h.at(9s).finishes("deadlock"))),
            "not judged: the execution did not run its course");
}

}  // namespace
}  // namespace halfsent
