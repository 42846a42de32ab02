#include "harness/contract/job_facts.h"

#include "harness/contract/testing.h"

namespace halfsent {
namespace {

std::size_t accepts_of(const Facts& facts, const std::string& key) { return facts.jobs.at(key).effects.size(); }

TEST(Attribution, TheKeyOfTheRequestDecides) {
  HistoryBuilder h;
  h.schedules("a").schedules("b").by("w").claims("a").claims("b").delivers(1, "a");
  const History history = h.finishes("drained");
  const Facts facts = gather_facts(history, honouring());
  EXPECT_EQ(accepts_of(facts, "a"), 1u);
  EXPECT_EQ(accepts_of(facts, "b"), 0u);
}

TEST(Attribution, WithoutAKeyTheJobOfTheRequestDecides) {
  HistoryBuilder h;
  h.schedules("a").schedules("b").by("w").claims("a").claims("b").delivers(1, "", "a");
  const History history = h.finishes("drained");
  EXPECT_EQ(accepts_of(gather_facts(history, honouring()), "a"), 1u);
}

TEST(Attribution, WithoutKeyAndJobTheLastClaimOfThatIncarnationDecides) {
  HistoryBuilder h;
  h.schedules("a").schedules("b").by("worker-1").claims("a").by("worker-2").claims("b").by("worker-1").delivers(1, "");
  h.by("worker-1", 2).delivers(2, "");  // a new life has claimed nothing yet
  const History history = h.finishes("drained");
  const Facts facts = gather_facts(history, honouring());
  EXPECT_EQ(accepts_of(facts, "a"), 1u);
  EXPECT_EQ(accepts_of(facts, "b"), 0u);
  EXPECT_THAT(facts.attribution_problems, testing::ElementsAre(testing::HasSubstr("worker-1 (incarnation 2)")));
}

TEST(Attribution, AKeyMadeUpForTheAttemptIsTracedToTheClaim) {
  HistoryBuilder h;
  h.schedules("a").by("w").claims("a").delivers(1, "uuid-1").delivers(2, "uuid-2").marks("a");
  const History history = h.finishes("drained");
  const Facts facts = gather_facts(history, honouring());
  EXPECT_EQ(accepts_of(facts, "a"), 2u);
  EXPECT_THAT(facts.attribution_problems, testing::IsEmpty());
}

TEST(Attribution, OneOfSeveralOpenClaimsIsAGuessAndIsSaid) {
  HistoryBuilder h;
  h.schedules("a").schedules("b").by("w").claims("a").claims("b").delivers(1, "").delivers(2, "");
  const History history = h.finishes("drained");
  const Facts facts = gather_facts(history, honouring());
  EXPECT_EQ(accepts_of(facts, "a"), 1u);
  EXPECT_EQ(accepts_of(facts, "b"), 1u);
  EXPECT_THAT(facts.attribution_problems, testing::ElementsAre(testing::HasSubstr("taken for b out of several")));
}

TEST(Attribution, APopOrAMarkBeforeTheSendCountsAsAClaim) {
  HistoryBuilder h;
  h.schedules("a").schedules("b").by("w").changes("a", JobState::pending, JobState::none).delivers(1, "");
  h.changes("b", JobState::pending, JobState::delivered).delivers(2, "");
  const History history = h.finishes("drained");
  const Facts facts = gather_facts(history, honouring());
  EXPECT_EQ(accepts_of(facts, "a"), 1u);
  EXPECT_EQ(accepts_of(facts, "b"), 1u);
}

TEST(Attribution, AnAcceptWithoutItsRequestFallsBackOnItsKey) {
  HistoryBuilder h;
  h.schedules("a").by("w").accepts(9, "a");
  const History history = h.finishes("drained");
  EXPECT_EQ(accepts_of(gather_facts(history, honouring()), "a"), 1u);
}

// Whether the only effect of "k" is in doubt, and why.
std::string doubt_in(const History& history) {
  const Facts facts = gather_facts(history, honouring());
  const Effect& effect = facts.jobs.at("k").effects.at(0);
  return effect.doubt == nullptr ? "none" : effect.doubt_reason;
}

HistoryBuilder accepted() {
  HistoryBuilder h;
  h.schedules("k").at(1ms).by("w").claims("k").at(2ms).requests(1, "k").at(3ms).accepts(1, "k");
  return h;
}

TEST(Doubt, AnAnsweredAndMarkedEffectHasNone) {
  EXPECT_EQ(doubt_in(accepted().responds(1, "k").marks("k").finishes("drained")), "none");
}

TEST(Doubt, ADeathBeforeTheMarkIsDoubt) {
  EXPECT_EQ(doubt_in(accepted().responds(1, "k").at(4ms).is_killed().finishes("horizon")),
            "w died at 0.004 s, before the job was marked");
}

TEST(Doubt, ADeathAfterTheMarkIsNone) {
  EXPECT_EQ(doubt_in(accepted().responds(1, "k").marks("k").is_killed().finishes("drained")), "none");
}

TEST(Doubt, ADeathOfAnotherIncarnationIsNone) {
  EXPECT_EQ(doubt_in(accepted().by("w", 2).is_killed().finishes("horizon")), "none");
}

TEST(Doubt, LeavingByItselfWithoutMarkingIsCarelessnessNotDoubt) {
  EXPECT_EQ(doubt_in(accepted().responds(1, "k").ends(Ended::How::exited, 0).finishes("all exited")), "none");
}

TEST(Doubt, TheEndOfTheWorldIsNone) {
  EXPECT_EQ(doubt_in(accepted().ends(Ended::How::ended_with_world).finishes("horizon")), "none");
}

TEST(Doubt, TheDeathOfTheChildThatSentIsDoubt) {
  HistoryBuilder h;
  h.schedules("k").by("w").claims("k").by("w", 1, 1).requests(1, "k").accepts(1, "k").is_killed();
  EXPECT_EQ(doubt_in(h.by("w").changes("k", JobState::leased, JobState::flagged).finishes("drained")),
            "w/1 died at 0.000 s, before the job was marked");
}

TEST(Doubt, ALostResponseIsDoubt) {
  for (const char* how : {"drop", "reset", "half"}) {
    EXPECT_EQ(doubt_in(accepted().at(5ms).responds(1, "k", 0, how).at(6ms).marks("k").finishes("drained")),
              "w lost the response at 0.005 s, before the job was marked");
  }
}

TEST(Doubt, AnAcceptAnsweredWithAFailureIsDoubt) {
  EXPECT_EQ(doubt_in(accepted().at(5ms).responds(1, "k", 503).finishes("horizon")),
            "w was answered 503 at 0.005 s, before the job was marked");
}

TEST(Doubt, GivingUpAfterATimeOutIsDoubt) {
  HistoryBuilder h;
  h.schedules("k").by("w").claims("k").waits("poll", 10s).requests(1, "k").accepts(1, "k").at(10s).requests(2, "k");
  EXPECT_EQ(doubt_in(h.finishes("horizon")),
            "w gave up waiting for the response before 10.000 s, before the job was marked");
}

TEST(Doubt, SendingAgainWithoutWaitingIsNone) {
  EXPECT_EQ(doubt_in(accepted().at(4ms).requests(2, "k").finishes("horizon")), "none");
}

TEST(Doubt, AnswerWithinTheTimeOutIsNone) {
  HistoryBuilder h;
  h.schedules("k").by("w").claims("k").waits("poll", 10s).requests(1, "k").accepts(1, "k").at(9s).responds(1, "k");
  EXPECT_EQ(doubt_in(h.at(20s).requests(2, "k").finishes("horizon")), "none");
}

}  // namespace
}  // namespace halfsent
