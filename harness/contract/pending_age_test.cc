#include "harness/contract/testing.h"

namespace halfsent {
namespace {

LedgerChanged pending(const std::string& key, JobState from, Nanoseconds due) {
  return {.key = key, .from = from, .to = JobState::pending, .due_at = due};
}

TEST(PendingAge, WhatIsClaimedSoonAfterItIsDueHolds) {
  HistoryBuilder h;
  h.add(pending("k", JobState::none, 0s)).add(pending("later", JobState::none, 20min)).at(5s).by("w").claims("k");
  h.add(pending("k", JobState::leased, 10min)).at(10min + 5s).claims("k").marks("k");
  h.at(20min + 9s).claims("later").marks("later");
  EXPECT_EQ(told(ask_run(judge_pending_age, h.finishes("drained"))), "");
}

TEST(PendingAge, AnOldJobBehindNewOnesIsTold) {
  HistoryBuilder h;
  h.add(pending("k", JobState::none, 0s)).at(20min).by("w").claims("k").marks("k");
  EXPECT_EQ(
      told(ask_run(judge_pending_age, h.finishes("drained"))),
      "k: pending and due since 0.000 s, and still so when claimed by w at 1200.000 s, which is 1200.000 s later; "
      "the oldest pending job may be overdue for 2min at most once nothing disturbs");
}

TEST(PendingAge, AJobThatNobodyEverClaimsIsOne) {
  HistoryBuilder h;
  h.add(pending("k", JobState::none, 5s));
  EXPECT_THAT(told(ask_run(judge_pending_age, h.at(30min).finishes("horizon"))),
              testing::HasSubstr("pending and due since 5.000 s, and still so at the end"));
}

TEST(PendingAge, WithoutDueTimesOrWithoutAnEndItIsNotJudged) {
  HistoryBuilder h;
  h.schedules("k");
  EXPECT_EQ(told(ask_run(judge_pending_age, h.at(30min).finishes("horizon"))), "not judged: rows show no due_at");
  EXPECT_EQ(told(ask_run(judge_pending_age, h.finishes("deadlock"))),
            "not judged: the execution did not run its course");
}

}  // namespace
}  // namespace halfsent
