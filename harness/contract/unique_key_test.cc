#include "harness/contract/testing.h"

namespace halfsent {
namespace {

TEST(UniqueKey, OneRowForEachKeyHolds) {
  HistoryBuilder h;
  h.by("scheduler-1").schedules("a").schedules("k");
  EXPECT_EQ(told(ask_run(judge_unique_key, h.finishes("horizon"))), "");
}

TEST(UniqueKey, ASecondRowIsToldWithWhoMadeIt) {
  HistoryBuilder h;
  h.by("scheduler-1").schedules("k").at(2s).by("scheduler-2");
  h.add(LedgerChanged{.key = "k", .from = JobState::pending, .to = JobState::pending, .rows = 2});
  EXPECT_EQ(told(ask_run(judge_unique_key, h.cut_off())),
            "k: the ledger has 2 rows with this key since scheduler-2 at 2.000 s");
}

TEST(UniqueKey, OfSuchAKeyNoOtherInvariantOfTheRunSpeaks) {
  HistoryBuilder h;
  h.by("w").schedules("k").claims("k");
  h.add(LedgerChanged{.key = "k", .from = JobState::leased, .to = JobState::pending, .attempts = 0, .rows = 2});
  h.changes("k", JobState::pending, JobState::delivered).changes("k", JobState::delivered, JobState::pending);
  EXPECT_EQ(told(ask_run(judge_transitions, h.cut_off())), "");
  EXPECT_EQ(told(ask_run(judge_attempts, h.cut_off())), "");
}

}  // namespace
}  // namespace halfsent
