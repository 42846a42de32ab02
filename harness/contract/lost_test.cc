#include "harness/contract/testing.h"

namespace halfsent {
namespace {

TEST(Lost, ARowThatIsGoneWithoutAnAcceptIsLost) {
  HistoryBuilder h;  // the claim is a delete
  h.schedules("k").by("worker-1").at(3ms).changes("k", JobState::pending, JobState::none).is_killed();
  const Said said = ask(is_lost, h.at(30min).finishes("horizon"));
  ASSERT_TRUE(said.violated);
  EXPECT_EQ(said.verdict.kind, VerdictKind::lost);
  EXPECT_EQ(said.verdict.why, "never accepted and nothing will try again: row removed by worker-1 at 0.003 s");
  EXPECT_THAT(said.verdict.evidence, testing::ElementsAre(1, 3));
}

TEST(Lost, ARowThatIsGoneAfterAnAcceptIsNot) {
  HistoryBuilder h;
  h.schedules("k").by("w").changes("k", JobState::pending, JobState::none).delivers(1, "k");
  EXPECT_FALSE(ask(is_lost, h.finishes("drained")).violated);
}

TEST(Lost, AJobThatNeverGotARowIsLost) {
  HistoryBuilder h;
  EXPECT_EQ(ask(is_lost, h.finishes("horizon"), honouring({"k"})).verdict.why,
            "never accepted and nothing will try again: the ledger never had a row for it");
}

TEST(Lost, ARowThatIsThereIsNot) {
  for (const JobState state : {JobState::pending, JobState::leased, JobState::flagged, JobState::unlisted}) {
    HistoryBuilder h;
    h.schedules("k").by("w").changes("k", JobState::pending, state);
    EXPECT_FALSE(ask(is_lost, h.finishes("horizon")).violated) << to_string(state);
  }
}

TEST(Lost, IsNotClaimedOfAnExecutionThatWasCutShort) {
  HistoryBuilder h;
  h.schedules("k").by("w").changes("k", JobState::pending, JobState::none);
  EXPECT_FALSE(ask(is_lost, h.finishes("spins")).violated);
}

}  // namespace
}  // namespace halfsent
