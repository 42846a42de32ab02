#include "harness/contract/testing.h"

namespace halfsent {
namespace {

TEST(Stuck, ALeaseThatNobodyReclaimsIsStuck) {
  HistoryBuilder h;
  h.schedules("k").at(2ms).by("worker-1", 2).claims("k").is_killed();
  const Said said = ask(is_stuck, h.at(30min).finishes("horizon"));
  ASSERT_TRUE(said.violated);
  EXPECT_EQ(said.verdict.kind, VerdictKind::stuck);
  EXPECT_EQ(
      said.verdict.why,
      "still leased when the execution ended at 1800.000 s (horizon): last claimed by worker-1 (incarnation 2) at "
      "0.002 s, leased until 60.002 s; never accepted");
  EXPECT_THAT(said.verdict.evidence, testing::ElementsAre(1, 3));
}

TEST(Stuck, AJobThatNobodyClaimedIsStuck) {
  HistoryBuilder h;
  h.schedules("k");
  EXPECT_THAT(ask(is_stuck, h.finishes("all exited")).verdict.why, testing::EndsWith("never claimed; never accepted"));
}

TEST(Stuck, AnAcceptThatIsNeverMarkedIsStuck) {
  HistoryBuilder h;
  h.schedules("k").by("w").claims("k").at(1s).delivers(1, "k");
  EXPECT_THAT(ask(is_stuck, h.finishes("horizon")).verdict.why,
              testing::EndsWith("accepted once, last from w at 1.000 s"));
}

TEST(Stuck, ATerminalUnlistedOrMissingRowIsNot) {
  for (const JobState state : {JobState::delivered, JobState::flagged, JobState::none, JobState::unlisted}) {
    HistoryBuilder h;
    h.schedules("k").by("w").changes("k", JobState::pending, state);
    EXPECT_FALSE(ask(is_stuck, h.finishes("horizon")).violated) << to_string(state);
  }
}

TEST(Stuck, IsNotClaimedOfAnExecutionThatWasCutShort) {
  HistoryBuilder h;
  h.schedules("k");
  EXPECT_FALSE(ask(is_stuck, h.finishes("unsupported wait timerfd_create")).violated);
  EXPECT_FALSE(ask(is_stuck, h.cut_off()).violated);
}

}  // namespace
}  // namespace halfsent
