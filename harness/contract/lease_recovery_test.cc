#include "harness/contract/testing.h"

namespace halfsent {
namespace {

HistoryBuilder abandoned() {
  HistoryBuilder h;
  h.schedules("k").at(2ms).by("worker-1").claims("k").is_killed();
  return h;
}

TEST(LeaseRecovery, ALeaseThatIsTakenUpInTimeHolds) {
  HistoryBuilder h = abandoned();
  h.at(70s).by("worker-2").claims("k", JobState::leased, 2).marks("k");
  EXPECT_EQ(told(ask_run(judge_lease_recovery, h.finishes("drained"))), "");
}

TEST(LeaseRecovery, AHiddenSecondTimerIsToldWithBothTimes) {
  HistoryBuilder h = abandoned();
  h.at(10min).by("worker-2").claims("k", JobState::leased, 2).marks("k");
  EXPECT_EQ(
      told(ask_run(judge_lease_recovery, h.finishes("drained"))),
      "k: claimed by worker-1 at 0.002 s, leased until 60.002 s, and nobody took it up before worker-2 at 600.000 "
      "s; an abandoned lease may block a job for 2min at most");
}

TEST(LeaseRecovery, ALeaseThatNobodyEverTakesUpIsOne) {
  EXPECT_THAT(told(ask_run(judge_lease_recovery, abandoned().at(30min).finishes("horizon"))),
              testing::HasSubstr("and nobody took it up before the end at 1800.000 s"));
}

TEST(LeaseRecovery, AClaimWithoutAnExpiryHasOneLease) {
  HistoryBuilder h;
  h.schedules("j").schedules("k").by("w").claims("j").marks("j").changes("k", JobState::pending, JobState::leased);
  EXPECT_THAT(told(ask_run(judge_lease_recovery, h.is_killed().at(30min).finishes("horizon"))),
              testing::HasSubstr("k: claimed by w at 0.000 s, leased without an expiry, and nobody took it up"));
}

TEST(LeaseRecovery, WhoIsHeldByThePlanIsGivenTheTimeAfterwards) {
  Fault hold{
      .kind = FaultKind::hold, .target = "worker-2", .at = Anchor{.boundary = "before_claim"}, .duration = 10min};
  const Plan plan{.scenario = "s", .seed = 1, .faults = {hold}};
  HistoryBuilder h;
  h.schedules("k").at(2ms).by("worker-1").claims("k").is_killed().by("worker-2").fires(0, "hold worker-2");
  h.at(10min).add(Released{}).at(11min).claims("k", JobState::leased, 2).marks("k");
  const History history = h.finishes("drained");
  EXPECT_EQ(told(ask_run(judge_lease_recovery, history, honouring(), plan)), "");
  EXPECT_NE(told(ask_run(judge_lease_recovery, history)), "");
}

TEST(LeaseRecovery, ClocksThatAreBehindAreGivenWhatTheyAreOff) {
  const Plan plan{
      .scenario = "s", .seed = 1, .faults = {Fault{.kind = FaultKind::skew, .target = "worker-2", .duration = -61s}}};
  HistoryBuilder h;
  h.by("worker-2").fires(0, "skew worker-2 -61s").by("").schedules("k").by("worker-1").claims("k").is_killed();
  h.at(220s).by("worker-2").claims("k", JobState::leased, 2).marks("k");
  const History history = h.finishes("drained");
  EXPECT_EQ(told(ask_run(judge_lease_recovery, history, honouring(), plan)), "");
  EXPECT_NE(told(ask_run(judge_lease_recovery, history)), "");
}

TEST(LeaseRecovery, TheStatedTimeDecides) {
  HistoryBuilder h = abandoned();
  h.at(100s).by("worker-2").claims("k", JobState::leased, 2).marks("k");
  const History history = h.finishes("drained");
  ContractTerms terms = honouring();
  terms.recovery = 30s;
  EXPECT_NE(told(ask_run(judge_lease_recovery, history, terms)), "");
  EXPECT_EQ(told(ask_run(judge_lease_recovery, history)), "");
}

TEST(LeaseRecovery, ARenewedLeaseIsANewOne) {
  HistoryBuilder h;
  h.schedules("k").by("w").claims("k");
  for (int n = 1; n < 10; ++n) h.at(n * 50s).claims("k", JobState::leased, 1);
  EXPECT_EQ(told(ask_run(judge_lease_recovery, h.at(500s).marks("k").finishes("drained"))), "");
}

TEST(LeaseRecovery, WhatIsAbsentIsNotJudgedWhereNobodyCouldDoIt) {
  EXPECT_EQ(told(ask_run(judge_lease_recovery, abandoned().at(30min).finishes("spins"))),
            "not judged: the execution did not run its course");
  EXPECT_EQ(told(ask_run(judge_lease_recovery, abandoned().at(30min).finishes("horizon"), honouring(), no_plan(),
                         "nobody was left to do it")),
            "not judged: nobody was left to do it");
}

}  // namespace
}  // namespace halfsent
