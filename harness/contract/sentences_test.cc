#include "harness/contract/sentences.h"

#include "harness/contract/testing.h"

namespace halfsent {
namespace {

TEST(Sentences, TimesAreCutToMilliseconds) {
  EXPECT_EQ(in_seconds(0ns), "0.000 s");
  EXPECT_EQ(in_seconds(4999us), "0.004 s");
  EXPECT_EQ(in_seconds(60'013ms), "60.013 s");
  EXPECT_EQ(in_seconds(-1500ms), "-1.500 s");
}

TEST(Sentences, TheFirstLifeOfAnActorNeedsNoNumber) {
  EXPECT_EQ(who(Event{.actor = "worker-1", .incarnation = 1, .body = Started{}}), "worker-1");
  EXPECT_EQ(who(Event{.actor = "worker-1", .incarnation = 3, .body = Started{}}), "worker-1 (incarnation 3)");
  EXPECT_EQ(who(Event{}), "the world");
}

TEST(Sentences, ListsAreJoinedAndCut) {
  EXPECT_EQ(listed({}), "");
  EXPECT_EQ(listed({"a"}), "a");
  EXPECT_EQ(listed({"a", "b"}), "a and b");
  EXPECT_EQ(listed({"a", "b", "c"}), "a, b and c");
  EXPECT_EQ(listed({"a", "b", "c"}, 2), "a, b and 1 more");
}

TEST(Sentences, ForeignStatesAreQuoted) {
  HistoryBuilder h;
  h.at(1ms).by("worker-1", 2).changes("k", JobState::leased, JobState::unlisted, "half\x1b[2J");
  EXPECT_EQ(row_change(h.cut_off().events[0]),
            "set to \"half\\u001b[2J\", a state the scenario does not list, by worker-1 (incarnation 2) at 0.001 s");
}

}  // namespace
}  // namespace halfsent
