#include "harness/contract/testing.h"

namespace halfsent {
namespace {

// w claims two jobs at once and knows of one.
HistoryBuilder claims_too_much() {
  HistoryBuilder h;
  h.schedules("a").schedules("k").by("w").starts().at(2ms).claims("a").claims("k").delivers(1, "a").marks("a");
  return h;
}

TEST(ClaimsAreRun, AClaimThatIsSentOrSettledInItsLeaseHolds) {
  HistoryBuilder h = claims_too_much();
  h.at(50s).delivers(2, "k").at(65s).marks("k");
  EXPECT_EQ(told(ask_run(judge_claims_are_run, h.at(90s).waits("poll", 1h).finishes("drained"))), "");
  HistoryBuilder back = claims_too_much();
  back.at(50s).changes("k", JobState::leased, JobState::pending);
  EXPECT_EQ(told(ask_run(judge_claims_are_run, back.at(90s).waits("poll", 1h).finishes("drained"))), "");
}

TEST(ClaimsAreRun, AClaimThatItsLivingHolderForgetsIsTold) {
  HistoryBuilder h = claims_too_much();
  h.at(60'010ms).by("v").claims("k", JobState::leased, 2).delivers(2, "k").marks("k");
  EXPECT_EQ(
      told(ask_run(judge_claims_are_run, h.finishes("drained"))),
      "k: claimed by w at 0.002 s and run by nobody: w was alive all the while, and sent nothing for it until the "
      "lease ran out at 60.002 s");
}

TEST(ClaimsAreRun, WhoLeavesByItselfForgetsTooAndWhoDiesDoesNot) {
  HistoryBuilder left = claims_too_much();
  left.at(3s).ends(Ended::How::exited, 0).at(61s).by("v").waits("poll", 1h);
  EXPECT_THAT(told(ask_run(judge_claims_are_run, left.cut_off())), testing::HasSubstr("w left at 3.000 s with code 0"));
  HistoryBuilder died = claims_too_much();
  died.at(3s).is_killed().at(61s).by("v").waits("poll", 1h);
  EXPECT_EQ(told(ask_run(judge_claims_are_run, died.cut_off())), "");
}

TEST(ClaimsAreRun, WhatIsDisturbedMeanwhileIsNotJudged) {
  Fault hold{.kind = FaultKind::hold, .target = "w", .at = Anchor{.boundary = "after_claim"}, .duration = 61s};
  const Plan plan{.scenario = "s", .seed = 1, .faults = {hold}};
  HistoryBuilder h;
  h.schedules("k").by("w").claims("k").fires(0, "hold w").at(61s).add(Released{}).waits("poll", 1h);
  EXPECT_EQ(told(ask_run(judge_claims_are_run, h.cut_off(), honouring(), plan)), "");
  EXPECT_NE(told(ask_run(judge_claims_are_run, h.cut_off())), "");
}

TEST(ClaimsAreRun, AnExecutionThatEndsBeforeTheLeaseSaysNothing) {
  EXPECT_EQ(told(ask_run(judge_claims_are_run, claims_too_much().at(30s).finishes("horizon"))), "");
}

}  // namespace
}  // namespace halfsent
