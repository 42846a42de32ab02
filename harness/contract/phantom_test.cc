#include "harness/contract/testing.h"

namespace halfsent {
namespace {

TEST(Phantom, AnAcceptedAndDeliveredJobIsNone) {
  HistoryBuilder h;
  h.schedules("k").by("w").claims("k").delivers(1, "k").marks("k");
  EXPECT_FALSE(ask(is_phantom, h.finishes("drained")).violated);
}

TEST(Phantom, AJobMarkedBeforeAKillAndNeverSentIsOne) {
  HistoryBuilder h;
  h.schedules("k").by("w").at(1ms).claims("k").at(2ms).marks("k").is_killed();
  const Said said = ask(is_phantom, h.finishes("drained"));
  ASSERT_TRUE(said.violated);
  EXPECT_EQ(said.verdict.kind, VerdictKind::phantom);
  EXPECT_EQ(said.verdict.why,
            "marked delivered by w at 0.002 s, never accepted; no request for it ever reached the downstream");
  EXPECT_THAT(said.verdict.evidence, testing::ElementsAre(2, 4));
}

TEST(Phantom, AnyAnswerTakenForSuccessIsOne) {
  HistoryBuilder h;
  h.schedules("k").by("w").claims("k").requests(1, "k").responds(1, "k", 301).marks("k");
  EXPECT_THAT(ask(is_phantom, h.finishes("drained")).verdict.why,
              testing::EndsWith("; it was requested once and the downstream accepted none of them"));
}

TEST(Phantom, AJobSwallowedByAnotherJobsKeyIsOne) {
  HistoryBuilder h;
  h.schedules("a").schedules("k").by("w").claims("a").delivers(1, "week", "a").marks("a").at(5ms);
  h.claims("k").requests(2, "week", "k").accepts(2, "week", true).responds(2, "week").marks("k");
  EXPECT_THAT(ask(is_phantom, h.finishes("drained")).verdict.why,
              testing::EndsWith("; its request at 0.005 s was taken for a repeat of another job's"));
}

TEST(Phantom, ARowPurgedAfterItWasReportedDeliveredIsStillOne) {
  HistoryBuilder h;
  h.schedules("k").by("w").claims("k").marks("k").changes("k", JobState::delivered, JobState::none);
  EXPECT_TRUE(ask(is_phantom, h.finishes("drained")).violated);
}

TEST(Phantom, AReportThatWasTakenBackIsNone) {
  HistoryBuilder h;
  h.schedules("k").by("w").claims("k").marks("k").changes("k", JobState::delivered, JobState::pending);
  EXPECT_FALSE(ask(is_phantom, h.finishes("horizon")).violated);
}

TEST(Phantom, IsNotClaimedOfAnExecutionThatWasCutShort) {
  HistoryBuilder h;
  h.schedules("k").by("w").claims("k").marks("k");
  EXPECT_FALSE(ask(is_phantom, h.finishes("deadlock")).violated);
}

}  // namespace
}  // namespace halfsent
