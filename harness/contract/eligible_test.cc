#include "harness/contract/testing.h"

namespace halfsent {
namespace {

ContractTerms eligible(std::vector<std::string> names) {
  ContractTerms terms = honouring();
  terms.eligible = std::move(names);
  return terms;
}

HistoryBuilder one_delivered_one_flagged() {
  HistoryBuilder h;
  h.by("scheduler-1").schedules("a").schedules("b").by("w").claims("a").delivers(1, "a").marks("a").claims("b");
  h.changes("b", JobState::leased, JobState::flagged);
  return h;
}

TEST(Eligible, AllCreatedAndAllSettledHolds) {
  HistoryBuilder h = one_delivered_one_flagged();
  h.by("operator-1").changes("a", JobState::delivered, JobState::none);
  EXPECT_EQ(told(ask_run(judge_eligible, h.finishes("drained"), eligible({"a", "b"}))), "");
}

TEST(Eligible, WhatIsMissingTooMuchOrOpenIsToldInOneSentence) {
  HistoryBuilder h = one_delivered_one_flagged();
  h.at(3s).by("scheduler-1").schedules("c");
  EXPECT_EQ(
      told(ask_run(judge_eligible, h.finishes("horizon"), eligible({"a", "b", "d"}))),
      "3 eligible, 3 created, 1 delivered, 1 flagged; never created: d; created and not eligible: c (scheduled by "
      "scheduler-1 at 3.000 s); neither delivered nor flagged: c");
}

TEST(Eligible, TwoKeysForOneSlotAreOneTooMany) {
  HistoryBuilder h;
  for (const char* key : {"eu:1", "us:1"}) {
    h.by("scheduler-1").add(LedgerChanged{.key = key, .to = JobState::pending, .slot = "1"});
    h.by("w").claims(key).delivers(1, key).marks(key);
  }
  EXPECT_EQ(told(ask_run(judge_eligible, h.finishes("drained"), eligible({"1"}))),
            "1 eligible, 2 created, 2 delivered, 0 flagged");
}

TEST(Eligible, WithoutAListOrWithoutAnEndItIsNotJudged) {
  EXPECT_EQ(told(ask_run(judge_eligible, one_delivered_one_flagged().finishes("drained"))),
            "not judged: no eligible jobs are stated");
  EXPECT_EQ(told(ask_run(judge_eligible, one_delivered_one_flagged().cut_off(), eligible({"a"}))),
            "not judged: the execution did not run its course");
}

}  // namespace
}  // namespace halfsent
