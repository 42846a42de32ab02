#include "harness/contract/testing.h"

namespace halfsent {
namespace {

ContractTerms exhausted_means_failed() {
  ContractTerms terms = honouring();
  terms.failed_words = {"exhausted"};
  return terms;
}

HistoryBuilder& flags(HistoryBuilder& h, const std::string& word, JobState from = JobState::leased) {
  return h.changes("k", from, JobState::flagged, word);
}

// worker-1 knows that it was accepted, cannot mark, and calls it a failure.
History knew_and_flagged(const std::string& word) {
  HistoryBuilder h;
  h.schedules("k").at(2ms).by("worker-1").claims("k").delivers(1, "k").at(5ms);
  return flags(h, word).finishes("drained");
}

TEST(Misflag, WhoWasAnsweredYesAndFlagsItAllTheSameMisflags) {
  const Said said = ask(is_misflag, knew_and_flagged("failed"));
  ASSERT_TRUE(said.violated);
  EXPECT_EQ(said.verdict.kind, VerdictKind::misflag);
  EXPECT_EQ(
      said.verdict.why,
      "accepted from worker-1 at 0.002 s, answered 200 at 0.002 s, and all the same flagged as failed by worker-1 "
      "at 0.005 s: an invitation to send it again");
  EXPECT_THAT(said.verdict.evidence, testing::ElementsAre(3, 4, 5));
}

TEST(Misflag, WhereTheTermsTellWhichWordSaysFailedAReviewIsNone) {
  EXPECT_FALSE(ask(is_misflag, knew_and_flagged("needs_review"), exhausted_means_failed()).violated);
  EXPECT_TRUE(ask(is_misflag, knew_and_flagged("exhausted"), exhausted_means_failed()).violated);
}

TEST(Misflag, ADoubtfulJobThatIsFlaggedIsNone) {
  HistoryBuilder lost;
  lost.schedules("k").by("w").claims("k").requests(1, "k").accepts(1, "k").responds(1, "k", 0, "drop");
  EXPECT_FALSE(ask(is_misflag, flags(lost, "needs_review").finishes("drained"), exhausted_means_failed()).violated);
  HistoryBuilder died;
  died.schedules("k").by("w").claims("k").delivers(1, "k").is_killed().at(61s).by("v");
  EXPECT_FALSE(ask(is_misflag, flags(died, "needs_review").finishes("drained")).violated);
}

TEST(Misflag, AnotherWhoTakesOverFromAHeldOneCannotKnow) {
  HistoryBuilder h;
  h.schedules("k").by("worker-1").claims("k").delivers(1, "k").at(61s).by("worker-2");
  EXPECT_FALSE(ask(is_misflag, flags(h, "needs_review").finishes("drained")).violated);
}

TEST(Misflag, WhoFindsItsOwnLeftoverAfterTheLeaseMayFlagIt) {
  HistoryBuilder h;  // the ledger could not be written until the lease had run out
  h.schedules("k").by("worker-1").claims("k").delivers(1, "k").at(65s);
  EXPECT_FALSE(ask(is_misflag, flags(h, "needs_review").finishes("drained")).violated);
}

TEST(Misflag, WhoHadStoppedWaitingBeforeTheAnswerMayFlagIt) {
  HistoryBuilder h;  // and was held before it could say so
  h.schedules("k").by("w").claims("k").requests(1, "k").accepts(1, "k").waits("poll", 10s).at(20s).responds(1, "k");
  h.at(30s);
  EXPECT_FALSE(ask(is_misflag, flags(h, "needs_review").finishes("drained")).violated);
}

TEST(Misflag, AnAcceptedJobUnderAWordThatSaysFailedIsOneWhoeverWroteIt) {
  HistoryBuilder h;
  h.schedules("k").at(2ms).by("worker-1").claims("k").requests(1, "k").accepts(1, "k").is_killed();
  h.at(61s).by("reaper-1");
  const History history = flags(h, "exhausted").finishes("drained");
  EXPECT_EQ(ask(is_misflag, history, exhausted_means_failed()).verdict.why,
            "accepted from worker-1 at 0.002 s, and flagged as exhausted by reaper-1 at 61.000 s, which tells an "
            "operator that it was not delivered");
  EXPECT_FALSE(ask(is_misflag, history).violated) << "which words say failed is not told";
}

TEST(Misflag, ADownstreamThatAcceptsAndSaysNoIsToBlameItself) {
  HistoryBuilder h;
  h.schedules("k").by("w").claims("k").requests(1, "k").accepts(1, "k").responds(1, "k", 422);
  EXPECT_FALSE(ask(is_misflag, flags(h, "exhausted").finishes("drained"), exhausted_means_failed()).violated);
}

TEST(Misflag, DeliveredAndThenFailedIsOne) {
  HistoryBuilder h;
  h.schedules("k").by("a").claims("k").at(61s).by("b").claims("k", JobState::leased, 2).delivers(1, "k").marks("k");
  h.at(70s).by("a");
  EXPECT_EQ(ask(is_misflag, flags(h, "failed", JobState::delivered).finishes("drained")).verdict.why,
            "accepted from b at 61.000 s and marked delivered by b at 61.000 s, then flagged as failed by a at 70.000 "
            "s: an invitation to send it again");
}

TEST(Misflag, AJobThatWasNeverAcceptedMayBeFlagged) {
  HistoryBuilder h;
  h.schedules("k").by("w").claims("k").requests(1, "k").responds(1, "k", 503);
  EXPECT_FALSE(ask(is_misflag, flags(h, "exhausted").finishes("drained"), exhausted_means_failed()).violated);
}

TEST(Misflag, AFlagThatWasTakenBackIsNone) {
  HistoryBuilder h;
  h.schedules("k").by("w").claims("k").delivers(1, "k");
  flags(h, "failed").by("operator-1").changes("k", JobState::flagged, JobState::delivered, "delivered");
  EXPECT_FALSE(ask(is_misflag, h.finishes("drained")).violated);
}

}  // namespace
}  // namespace halfsent
