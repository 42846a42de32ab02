#include "harness/contract/testing.h"

namespace halfsent {
namespace {

LedgerChanged row(JobState from, JobState to, std::int64_t attempts) {
  return {.key = "k", .from = from, .to = to, .attempts = attempts, .lease_until = Nanoseconds{-1}};
}

HistoryBuilder scheduled() {
  HistoryBuilder h;
  h.add(row(JobState::none, JobState::pending, 0)).by("w");
  return h;
}

TEST(Attempts, OneMoreWithEachClaimHolds) {
  HistoryBuilder h = scheduled();
  h.add(row(JobState::pending, JobState::leased, 1)).add(row(JobState::leased, JobState::pending, 1));
  h.by("v").add(row(JobState::pending, JobState::leased, 2)).add(row(JobState::leased, JobState::delivered, 2));
  EXPECT_EQ(told(ask_run(judge_attempts, h.cut_off())), "");
}

TEST(Attempts, AClaimThatIsNotCountedIsTold) {
  HistoryBuilder h = scheduled();
  h.at(3s).add(row(JobState::pending, JobState::leased, 0));
  EXPECT_EQ(told(ask_run(judge_attempts, h.cut_off())),
            "k: claimed by w at 3.000 s, and attempts went from 0 to 0: each claim counts as one");
}

TEST(Attempts, AReclaimByAnotherThatIsNotCountedIsOne) {
  HistoryBuilder h;
  h.schedules("k").by("w").claims("k").at(61s).by("v").claims("k", JobState::leased, 1);
  EXPECT_EQ(ask_run(judge_attempts, h.cut_off()).broken.size(), 1u);
}

TEST(Attempts, AFailureThatIsCountedIsNoClaim) {
  HistoryBuilder h = scheduled();
  h.add(row(JobState::pending, JobState::leased, 1)).at(3s).add(row(JobState::leased, JobState::pending, 2));
  EXPECT_EQ(told(ask_run(judge_attempts, h.cut_off())),
            "k: put back to pending by w at 3.000 s, and attempts went from 1 to 2 without a claim");
}

TEST(Attempts, RenewingALeaseIsNoClaim) {
  HistoryBuilder h;
  h.schedules("k").by("w").claims("k").at(30s).claims("k", JobState::leased, 1).marks("k");
  EXPECT_EQ(told(ask_run(judge_attempts, h.cut_off())), "");
}

TEST(Attempts, AnOperatorMaySetAFlaggedJobFreeWithItsAttemptsAnew) {
  HistoryBuilder h = scheduled();
  h.add(row(JobState::pending, JobState::leased, 1)).add(row(JobState::leased, JobState::flagged, 1));
  h.by("operator-1").add(row(JobState::flagged, JobState::pending, 0)).by("w");
  h.add(row(JobState::pending, JobState::leased, 1));
  ContractTerms terms = honouring();
  terms.max_attempts = 1;
  EXPECT_EQ(told(ask_run(judge_attempts, h.cut_off(), terms)), "");
}

TEST(Attempts, MoreClaimsThanAllowedAreTold) {
  HistoryBuilder h = scheduled();
  for (int n = 1; n <= 3; ++n) {
    h.at(n * 1s).add(row(JobState::pending, JobState::leased, n)).add(row(JobState::leased, JobState::pending, n));
  }
  ContractTerms terms = honouring();
  terms.max_attempts = 3;
  EXPECT_EQ(told(ask_run(judge_attempts, h.cut_off(), terms)), "");
  terms.max_attempts = 2;
  EXPECT_EQ(told(ask_run(judge_attempts, h.cut_off(), terms)),
            "k: claimed 3 times, last by w at 3.000 s; the scenario allows 2");
}

TEST(Attempts, ALedgerThatAFailoverPutBackStartsAnew) {
  HistoryBuilder h = scheduled();
  h.add(row(JobState::pending, JobState::leased, 1)).by("").add(row(JobState::leased, JobState::pending, 0));
  h.by("w").add(row(JobState::pending, JobState::leased, 1));
  EXPECT_EQ(told(ask_run(judge_attempts, h.cut_off())), "");
}

TEST(Attempts, WithoutTheColumnItIsNotJudged) {
  HistoryBuilder h;
  h.schedules("k");
  EXPECT_EQ(told(ask_run(judge_attempts, h.cut_off())), "not judged: rows show no attempts");
}

}  // namespace
}  // namespace halfsent
