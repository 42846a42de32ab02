#include "harness/contract/testing.h"

namespace halfsent {
namespace {

TEST(Hidden, AJobThatIsDeletedWhenItsAttemptsAreUsedUpIsHidden) {
  HistoryBuilder h;
  h.schedules("k").at(2ms).by("worker-1").claims("k").requests(1, "k").is_killed();
  h.at(61s).by("worker-2").changes("k", JobState::leased, JobState::none);
  const Said said = ask(is_hidden, h.at(30min).finishes("horizon"));
  ASSERT_TRUE(said.violated);
  EXPECT_EQ(said.verdict.kind, VerdictKind::hidden);
  EXPECT_EQ(said.verdict.why,
            "row removed by worker-2 at 61.000 s, neither delivered nor flagged: no operator can see it; it was never "
            "accepted");
  EXPECT_THAT(said.verdict.evidence, testing::ElementsAre(4, 5));
}

TEST(Hidden, ADeletedJobWhoseAcceptanceNobodyKnewIsHidden) {
  HistoryBuilder h;
  h.schedules("k").by("w").claims("k").requests(1, "k").accepts(1, "k").responds(1, "k", 0, "drop");
  h.changes("k", JobState::leased, JobState::none);
  EXPECT_THAT(ask(is_hidden, h.finishes("all exited")).verdict.why,
              testing::EndsWith("it was accepted once and whoever removed it did not know"));
}

TEST(Hidden, ASystemThatDeletesWhatWasAcceptedHidesNothing) {
  HistoryBuilder h;
  h.schedules("k").by("w").claims("k").delivers(1, "k").changes("k", JobState::leased, JobState::none);
  EXPECT_FALSE(ask(is_hidden, h.finishes("all exited")).violated);
  HistoryBuilder again;  // accepted already by the one who died; the repeat was recognised
  again.schedules("k").by("w").claims("k").requests(1, "k").accepts(1, "k").is_killed();
  again.by("v").claims("k", JobState::leased, 2).requests(2, "k").accepts(2, "k", true).responds(2, "k");
  again.changes("k", JobState::leased, JobState::none);
  EXPECT_FALSE(ask(is_hidden, again.finishes("all exited")).violated);
}

TEST(Hidden, AClaimThatIsADeleteIsNotHiddenButLost) {
  HistoryBuilder h;
  h.schedules("k").by("w").changes("k", JobState::pending, JobState::none).is_killed();
  const History history = h.finishes("all exited");
  EXPECT_FALSE(ask(is_hidden, history).violated);
  EXPECT_TRUE(ask(is_lost, history).violated);
}

TEST(Hidden, PurgingWhatWasDeliveredOrFlaggedHidesNothing) {
  for (const JobState state : {JobState::delivered, JobState::flagged}) {
    HistoryBuilder h;
    h.schedules("k").by("w").claims("k").requests(1, "k").changes("k", JobState::leased, state);
    h.by("operator-1").changes("k", state, JobState::none);
    EXPECT_FALSE(ask(is_hidden, h.finishes("drained")).violated) << to_string(state);
  }
}

TEST(Hidden, AStateThatTheScenarioDoesNotListIsHiddenAcceptedOrNot) {
  HistoryBuilder h;
  h.schedules("k").at(1s).by("w").claims("k").changes("k", JobState::leased, JobState::unlisted, "archived");
  EXPECT_EQ(ask(is_hidden, h.finishes("horizon")).verdict.why,
            "set to archived, a state the scenario does not list, by w at 1.000 s, and so it was when the execution "
            "ended; it was never accepted");
  HistoryBuilder g;
  g.schedules("k").by("w").claims("k").delivers(1, "k").changes("k", JobState::leased, JobState::unlisted, "archived");
  EXPECT_THAT(ask(is_hidden, g.finishes("horizon")).verdict.why, testing::EndsWith("it was accepted once"));
}

TEST(Hidden, AnUnlistedStateOnTheWayIsNone) {
  HistoryBuilder h;
  h.schedules("k").by("w").changes("k", JobState::pending, JobState::unlisted, "sending").delivers(1, "k");
  EXPECT_FALSE(ask(is_hidden, h.marks("k", JobState::unlisted).finishes("drained")).violated);
}

// Claimed so often by one who dies each time, and still leased.
History claimed(int times) {
  HistoryBuilder h;
  h.schedules("k");
  for (int n = 1; n <= times; ++n) {
    h.at(n * 61s).by("worker-1", n).claims("k", n == 1 ? JobState::pending : JobState::leased, 0).is_killed();
  }
  return h.at(30min).finishes("horizon");
}

TEST(Hidden, AJobThatLoopsBeyondItsAttemptsIsHidden) {
  ContractTerms terms = honouring();
  terms.max_attempts = 3;
  EXPECT_FALSE(ask(is_hidden, claimed(3), terms).violated);
  EXPECT_EQ(ask(is_hidden, claimed(5), terms).verdict.why,
            "claimed 5 times, first by worker-1 at 61.000 s and last by worker-1 (incarnation 5) at 305.000 s; after 3 "
            "times it must be flagged, and it is still leased: it loops and no operator is told");
  EXPECT_FALSE(ask(is_hidden, claimed(5)).violated) << "no limit is stated";
}

TEST(Hidden, IsNotClaimedOfAnExecutionThatWasCutShort) {
  HistoryBuilder h;
  h.schedules("k").by("w").claims("k").changes("k", JobState::leased, JobState::unlisted, "archived");
  EXPECT_FALSE(ask(is_hidden, h.finishes("spins")).violated);
}

}  // namespace
}  // namespace halfsent
