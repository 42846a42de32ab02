#include "harness/contract/testing.h"

namespace halfsent {
namespace {

// worker-1 is killed between accept and mark; worker-2 takes over when the lease has run out.
History killed_after_accept(const std::string& key = "k") {
  HistoryBuilder h;
  h.schedules("k").at(2ms).by("worker-1").claims("k").at(3ms).requests(1, key, "k").at(4ms).accepts(1, key);
  h.is_killed().at(60'010ms).by("worker-2").claims("k", JobState::leased, 2);
  h.at(60'013ms).delivers(2, key, "k").at(60'014ms).marks("k");
  return h.at(30min).finishes("horizon");
}

TEST(Duplicate, OneAcceptIsNone) {
  HistoryBuilder h;
  h.schedules("k").by("worker-1").claims("k").delivers(1, "k").marks("k");
  EXPECT_FALSE(ask(is_duplicate, h.finishes("drained")).violated);
}

TEST(Duplicate, ARepeatThatTheDownstreamRecognisesIsNone) {
  HistoryBuilder h;
  h.schedules("k").by("worker-1").claims("k").requests(1, "k").accepts(1, "k").is_killed();
  h.by("worker-2").claims("k", JobState::leased).requests(2, "k").accepts(2, "k", true).responds(2, "k").marks("k");
  EXPECT_FALSE(ask(is_duplicate, h.finishes("drained")).violated);
}

TEST(Duplicate, TwoAcceptsAreToldWithActorAndTime) {
  const Said said = ask(is_duplicate, killed_after_accept(), ignoring(OnDoubt::unstated));
  ASSERT_TRUE(said.violated);
  EXPECT_EQ(said.verdict.kind, VerdictKind::duplicate);
  EXPECT_EQ(said.verdict.why,
            "accepted twice: from worker-1 at 0.004 s and from worker-2 at 60.013 s; key honoured: no");
  EXPECT_THAT(said.verdict.evidence, testing::ElementsAre(3, 7));
}

TEST(Duplicate, AnIncarnationThatCameBackIsNamed) {
  HistoryBuilder h;
  h.schedules("k").by("worker-1").claims("k").delivers(1, "k").is_killed();
  h.at(61s).by("worker-1", 2).claims("k", JobState::leased).delivers(2, "k").marks("k");
  EXPECT_EQ(ask(is_duplicate, h.finishes("drained"), ignoring(OnDoubt::flag)).verdict.why,
            "accepted twice: from worker-1 at 0.000 s and from worker-1 (incarnation 2) at 61.000 s; key honoured: no");
}

TEST(Duplicate, AHonouringDownstreamThatTookItTwiceSaysWhy) {
  EXPECT_THAT(ask(is_duplicate, killed_after_accept()).verdict.why,
              testing::EndsWith("key honoured: yes, but it had forgotten the key"));
  EXPECT_THAT(ask(is_duplicate, killed_after_accept("")).verdict.why,
              testing::EndsWith("key honoured: yes, but the requests carried none"));
  HistoryBuilder h;
  h.schedules("k").by("w").claims("k").delivers(1, "uuid 1").delivers(2, "uuid-2").marks("k");
  EXPECT_THAT(ask(is_duplicate, h.finishes("drained")).verdict.why,
              testing::EndsWith("key honoured: yes, but the requests carried different ones: \"uuid 1\" and uuid-2"));
}

TEST(Duplicate, RetryOnDoubtAllowsARepeatAfterADeath) {
  EXPECT_FALSE(ask(is_duplicate, killed_after_accept(), ignoring(OnDoubt::retry)).violated);
}

// worker-1 is stopped with the job in its hands, and sends when worker-2 has done it.
History stopped_before_it_sent() {
  HistoryBuilder h;
  h.schedules("k").at(2ms).by("worker-1").claims("k");
  h.at(60s)
      .by("worker-2")
      .claims("k", JobState::leased, 2)
      .delivers(1, "k")
      .marks("k")
      .at(61s)
      .by("worker-1")
      .add(Released{});
  return h.at(62s).delivers(2, "k").at(30min).finishes("horizon");
}

TEST(Duplicate, RetryOnDoubtAllowsTheLateSendOfAHolderThatWasStopped) {
  EXPECT_FALSE(ask(is_duplicate, stopped_before_it_sent(), ignoring(OnDoubt::retry)).violated);
  EXPECT_TRUE(ask(is_duplicate, stopped_before_it_sent(), ignoring(OnDoubt::flag)).violated);
  EXPECT_TRUE(ask(is_duplicate, stopped_before_it_sent(), honouring()).violated);
}

TEST(Duplicate, RetryOnDoubtAllowsARepeatWhileTheFirstSenderIsStopped) {
  const auto story = [](bool stopped) {
    HistoryBuilder h;
    h.schedules("k").at(2ms).by("worker-1").claims("k").delivers(1, "k");
    if (stopped) h.fires(0, "hold worker-1 at before_mark k for 61s");
    h.at(60s).by("worker-2").claims("k", JobState::leased, 2).delivers(2, "k").marks("k");
    if (stopped) h.at(61s).by("worker-1").add(Released{});
    return h.at(30min).finishes("horizon");
  };
  EXPECT_FALSE(ask(is_duplicate, story(true), ignoring(OnDoubt::retry)).violated);
  EXPECT_TRUE(ask(is_duplicate, story(false), ignoring(OnDoubt::retry)).violated);
  EXPECT_TRUE(ask(is_duplicate, story(true), ignoring(OnDoubt::flag)).violated);
}

TEST(Duplicate, RetryOnDoubtAllowsARepeatThatIsAcceptedBeforeWhatItRepeats) {
  const auto story = [](Nanoseconds gives_up_after) {
    HistoryBuilder h;
    h.schedules("k").at(2ms).by("worker-1").claims("k").requests(1, "k").waits("poll", gives_up_after);
    h.at(gives_up_after).changes("k", JobState::leased, JobState::pending);
    h.at(30s).by("worker-2").claims("k", JobState::pending, 2).delivers(2, "k").marks("k");
    return h.at(61s).by("worker-1").accepts(1, "k").at(30min).finishes("horizon");
  };
  EXPECT_FALSE(ask(is_duplicate, story(10s), ignoring(OnDoubt::retry)).violated);
  EXPECT_TRUE(ask(is_duplicate, story(10s), ignoring(OnDoubt::flag)).violated);
}

TEST(Duplicate, ALateSendWithoutAStopIsNotAllowed) {
  HistoryBuilder h;
  h.schedules("k").at(2ms).by("worker-1").claims("k");
  h.at(60s).by("worker-2").claims("k", JobState::leased, 2).delivers(1, "k").marks("k");
  h.at(62s).by("worker-1").delivers(2, "k").at(30min);
  EXPECT_TRUE(ask(is_duplicate, h.finishes("horizon"), ignoring(OnDoubt::retry)).violated);
}

TEST(Duplicate, FlagOnDoubtAllowsNoRepeatAtAll) {
  EXPECT_TRUE(ask(is_duplicate, killed_after_accept(), ignoring(OnDoubt::flag)).violated);
}

TEST(Duplicate, SilenceAboutDoubtAllowsNoRepeat) {
  EXPECT_TRUE(ask(is_duplicate, killed_after_accept(), ignoring(OnDoubt::unstated)).violated);
}

TEST(Duplicate, RetryOnDoubtIsNoExcuseWhereTheDownstreamHonoursKeys) {
  ContractTerms terms = honouring();
  terms.on_doubt = OnDoubt::retry;
  EXPECT_TRUE(ask(is_duplicate, killed_after_accept(), terms).violated);
}

TEST(Duplicate, RetryOnDoubtIsNoExcuseWithoutDoubt) {
  HistoryBuilder h;  // a stale holder: nobody died, no response was lost
  h.schedules("k").by("worker-1").claims("k").at(61s).by("worker-2").claims("k", JobState::leased);
  h.delivers(1, "k").marks("k").at(70s).by("worker-1").delivers(2, "k");
  EXPECT_TRUE(ask(is_duplicate, h.finishes("drained"), ignoring(OnDoubt::retry)).violated);
}

TEST(Duplicate, RetryOnDoubtExcusesOneRepeatPerDoubt) {
  HistoryBuilder h;  // the second effect was answered and marked; the third has no reason
  h.schedules("k").by("worker-1").claims("k").requests(1, "k").accepts(1, "k").responds(1, "k", 0, "drop");
  h.at(61s).by("worker-2").claims("k", JobState::leased).delivers(2, "k").marks("k");
  h.at(90s).by("worker-3").delivers(3, "k");
  EXPECT_TRUE(ask(is_duplicate, h.finishes("drained"), ignoring(OnDoubt::retry)).violated);
}

TEST(Duplicate, ARepeatThatWasAskedForBeforeTheDoubtIsNotExcused) {
  HistoryBuilder h;  // worker-2 sends while worker-1 still waits; only then worker-1 dies
  h.schedules("k").by("worker-1").claims("k").requests(1, "k").accepts(1, "k");
  h.at(61s).by("worker-2").claims("k", JobState::leased).requests(2, "k");
  h.by("worker-1").is_killed().by("worker-2").accepts(2, "k").responds(2, "k").marks("k");
  EXPECT_TRUE(ask(is_duplicate, h.finishes("drained"), ignoring(OnDoubt::retry)).violated);
}

}  // namespace
}  // namespace halfsent
