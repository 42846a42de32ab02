#include "harness/contract/testing.h"

namespace halfsent {
namespace {

TEST(WrongKey, OneKeyForEveryAttemptIsNone) {
  HistoryBuilder h;
  h.schedules("k").by("w").claims("k").requests(1, "k", "k").responds(1, "k", 503).delivers(2, "k", "k").marks("k");
  EXPECT_FALSE(ask(is_wrong_key, h.finishes("drained")).violated);
}

TEST(WrongKey, AKeyMadeUpForEachAttemptIsOneEvenIfNothingWasAcceptedTwice) {
  HistoryBuilder h;
  h.schedules("k").at(2ms).by("worker-1").claims("k").requests(1, "u-1", "k").responds(1, "u-1", 503);
  h.at(9s).delivers(2, "u-2", "k").marks("k");
  const Said said = ask(is_wrong_key, h.finishes("drained"));
  ASSERT_TRUE(said.violated);
  EXPECT_EQ(said.verdict.kind, VerdictKind::wrong_key);
  EXPECT_EQ(said.verdict.why, "sent under 2 different keys: u-1 by worker-1 at 0.002 s and u-2 by worker-1 at 9.000 s");
  EXPECT_THAT(said.verdict.evidence, testing::ElementsAre(2, 4));
}

TEST(WrongKey, OneKeyForSeveralJobsIsOne) {
  HistoryBuilder h;
  h.schedules("a").schedules("k").by("w").claims("a").delivers(1, "week", "a").marks("a").at(5ms);
  h.claims("k").requests(2, "week", "k").accepts(2, "week", true).responds(2, "week").marks("k");
  const History history = h.finishes("drained");
  EXPECT_EQ(ask(is_wrong_key, history).verdict.why,
            "sent under the key week by w at 0.005 s, and another job, a, under the same key by w at 0.000 s");
  EXPECT_TRUE(ask(is_wrong_key, history, honouring(), "a").violated);
}

TEST(WrongKey, AnotherJobsOwnKeyIsOne) {
  HistoryBuilder h;
  h.schedules("a").schedules("k").by("w").claims("a").delivers(1, "a", "a").marks("a");
  h.claims("k").requests(2, "a", "k").accepts(2, "a", true).responds(2, "a").marks("k");
  EXPECT_TRUE(ask(is_wrong_key, h.finishes("drained")).violated);
}

TEST(WrongKey, NoKeyAtAllIsNone) {
  HistoryBuilder h;
  h.schedules("a").schedules("k").by("w").claims("a").delivers(1, "", "a").claims("k").delivers(2, "", "k");
  h.delivers(3, "", "k");
  EXPECT_FALSE(ask(is_wrong_key, h.finishes("drained")).violated);
}

TEST(WrongKey, ASecondRowForASlotIsOneAndTheFirstIsNot) {
  HistoryBuilder h;
  const auto schedules = [&h](const std::string& key, const std::string& slot) {
    h.add(LedgerChanged{.key = key, .to = JobState::pending, .raw_state = "pending", .slot = slot});
  };
  h.by("scheduler-1");
  schedules("eu:4187", "4187/33");
  schedules("4188", "4188/33");
  h.at(1s).by("scheduler-2");
  schedules("k", "4187/33");
  const History history = h.finishes("drained");
  EXPECT_EQ(
      ask(is_wrong_key, history).verdict.why,
      "a second key for the slot \"4187/33\": scheduled by scheduler-2 at 1.000 s, while eu:4187 stands for the same "
      "one (scheduled by scheduler-1 at 0.000 s)");
  EXPECT_FALSE(ask(is_wrong_key, history, honouring(), "eu:4187").violated);
  EXPECT_FALSE(ask(is_wrong_key, history, honouring(), "4188").violated);
}

TEST(WrongKey, AForeignKeyIsQuoted) {
  HistoryBuilder h;
  h.schedules("k").by("w").claims("k").delivers(1, "k", "k").requests(2, "\x1b[2J", "k");
  EXPECT_THAT(ask(is_wrong_key, h.finishes("drained")).verdict.why, testing::HasSubstr("\"\\u001b[2J\" by w"));
}

}  // namespace
}  // namespace halfsent
