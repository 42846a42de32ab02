#include "harness/contract/operations.h"

#include "harness/contract/objectives.h"
#include "harness/contract/testing.h"

namespace halfsent {
namespace {

using testing::ElementsAre;

Operations watched(const History& history, Objectives objectives = {}) {
  ContractTerms terms = honouring();
  terms.objectives = objectives;
  return watch(history, terms);
}

// worker-1 dies with a lease; worker-2 takes the job over when it has run out.
HistoryBuilder abandoned() {
  HistoryBuilder h;
  h.by("").schedules("k").schedules("m");
  h.at(1s).by("worker-1").claims("k").at(2s).is_killed();
  h.at(3s).by("worker-2").claims("m").delivers(1, "m").marks("m");
  h.at(65s).claims("k", JobState::leased, 2).at(66s).delivers(2, "k").marks("k");
  return h;
}

TEST(Operations, ALeaseThatRunsOutIsTakenOverAndEverythingIsDelivered) {
  const Operations seen = watched(abandoned().at(100s).finishes("drained"));
  EXPECT_EQ(seen.expired_leases, 1);
  EXPECT_EQ(seen.early_takeovers, 0);
  EXPECT_EQ(seen.effects, 2);
  EXPECT_EQ(seen.end, 100s);
  ASSERT_EQ(seen.jobs.size(), 2U);
  EXPECT_EQ(seen.jobs[0].key, "k");
  EXPECT_EQ(seen.jobs[0].attempts, 2);
  EXPECT_EQ(seen.jobs[1].attempts, 1);
  EXPECT_EQ(seen.jobs[0].state, JobState::delivered);
  EXPECT_EQ(seen.oldest_pending(), 0s);
  EXPECT_EQ(seen.greatest_oldest_pending(), 65s);
}

TEST(Operations, TheLongestDelayIsFromEligibleToAccepted) {
  const Operations seen = watched(abandoned().finishes("drained"));
  ASSERT_NE(seen.longest_delay(), nullptr);
  EXPECT_EQ(seen.longest_delay()->key, "k");
  EXPECT_EQ(seen.longest_delay()->length(), 66s);
  EXPECT_FALSE(seen.longest_delay()->open);
  EXPECT_EQ(seen.delays[1].length(), 3s);
}

TEST(Operations, AnAbandonedLeaseBlocksFromTheDeathOfItsHolderToTheNextClaim) {
  const Operations seen = watched(abandoned().finishes("drained"));
  ASSERT_EQ(seen.blocks.size(), 1U);
  EXPECT_EQ(seen.blocks[0].holder, "worker-1");
  EXPECT_EQ(seen.blocks[0].from, 2s);
  EXPECT_EQ(seen.blocks[0].length(), 63s);
  EXPECT_THAT(seen.blocks[0].evidence, ElementsAre(2, 3, 9));
}

TEST(Operations, AHolderThatLivesOnBlocksFromItsLastRenewal) {
  HistoryBuilder h;
  h.schedules("k").at(1s).by("w").claims("k").at(30s).claims("k", JobState::leased, 1);
  h.at(95s).by("v").claims("k", JobState::leased, 2).delivers(1, "k").marks("k");
  const Operations seen = watched(h.finishes("drained"));
  EXPECT_EQ(seen.expired_leases, 1);
  ASSERT_EQ(seen.blocks.size(), 1U);
  EXPECT_EQ(seen.blocks[0].from, 30s);
  EXPECT_EQ(seen.blocks[0].to, 95s);
  EXPECT_EQ(seen.jobs[0].attempts, 2);
}

TEST(Operations, ALeaseThatNobodyTakesBlocksUntilTheEnd) {
  HistoryBuilder h;
  h.schedules("k").at(1s).by("w").claims("k").is_killed();
  const Operations seen = watched(h.at(30min).finishes("horizon"));
  ASSERT_EQ(seen.blocks.size(), 1U);
  EXPECT_TRUE(seen.blocks[0].open);
  EXPECT_EQ(seen.blocks[0].length(), 30min - 1s);
  EXPECT_TRUE(seen.longest_delay()->open);
  EXPECT_EQ(seen.oldest_pending(), 30min);
}

TEST(Operations, ATakeoverBeforeTheLeaseRunsOutIsEarly) {
  HistoryBuilder h;
  h.schedules("k").by("w").claims("k").at(59s).by("v").claims("k", JobState::leased, 2);
  const Operations seen = watched(h.finishes("drained"));
  EXPECT_EQ(seen.early_takeovers, 1);
  EXPECT_THAT(seen.early_evidence, ElementsAre(1, 2));
  EXPECT_EQ(seen.expired_leases, 0);
}

TEST(Operations, TheNextLifeOfAHolderMayNotTakeItsLeaseEither) {
  HistoryBuilder h;
  h.schedules("k").by("w").claims("k").is_killed().at(5s).by("w", 2).claims("k", JobState::leased, 2);
  EXPECT_EQ(watched(h.finishes("drained")).early_takeovers, 1);
}

TEST(Operations, GivingAJobBackIsNoTakeover) {
  HistoryBuilder h;
  h.schedules("k").by("w").claims("k").at(5s).changes("k", JobState::leased, JobState::pending);
  const Operations seen = watched(h.finishes("drained"));
  EXPECT_EQ(seen.early_takeovers, 0);
  EXPECT_TRUE(seen.blocks.empty());
}

TEST(Operations, ARequestWithoutTheKeyOfItsJobIsCounted) {
  HistoryBuilder h;
  h.schedules("k").by("w").claims("k").delivers(1, "k").delivers(2, "", "k").delivers(3, "other", "k");
  const Operations seen = watched(h.finishes("drained"));
  EXPECT_EQ(seen.other_keys, 2);
  EXPECT_THAT(seen.other_keys_evidence, ElementsAre(5, 8));
}

TEST(Operations, TheBoardShowsWhatWaitsAndWhatIsPastTheTarget) {
  const Operations seen = watched(abandoned().finishes("drained"), {.pending_target = 10s});
  const auto row = [](const BoardPoint& p) {
    return std::vector<std::int64_t>{p.at / 1s, p.pending, p.leased, p.expired, p.delivered, p.past_target, p.attempts};
  };
  std::vector<std::vector<std::int64_t>> rows;
  for (const BoardPoint& point : seen.series) rows.push_back(row(point));
  using Row = std::vector<std::int64_t>;
  EXPECT_THAT(rows, ElementsAre(Row{0, 2, 0, 0, 0, 0, 0}, Row{1, 1, 1, 0, 0, 0, 1}, Row{3, 0, 1, 0, 1, 0, 2},
                                Row{10, 0, 1, 0, 1, 1, 2}, Row{61, 0, 0, 1, 1, 1, 2}, Row{65, 0, 1, 0, 1, 1, 3},
                                Row{66, 0, 0, 0, 2, 0, 3}));
  EXPECT_EQ(seen.series[2].oldest_waiting, -1ns);
  EXPECT_EQ(seen.series[4].oldest_waiting, 0s);
}

TEST(Operations, AFlagEndsTheDelayOfAJobThatIsNeverAccepted) {
  HistoryBuilder h;
  h.schedules("k").at(9s).by("w").changes("k", JobState::pending, JobState::flagged, "exhausted");
  const Operations seen = watched(h.at(20s).finishes("drained"));
  EXPECT_EQ(seen.longest_delay()->length(), 9s);
  EXPECT_FALSE(seen.longest_delay()->open);
}

TEST(Operations, NothingHappenedIsNothingToShow) {
  const Operations seen = watched(HistoryBuilder().finishes("drained"));
  EXPECT_EQ(seen.longest_delay(), nullptr);
  EXPECT_EQ(seen.longest_block(), nullptr);
  EXPECT_EQ(seen.oldest_pending(), 0s);
  EXPECT_TRUE(seen.series.empty());
}

Verdict judged(const History& history, const Objectives& objectives, const Expectations& expected = {}) {
  ContractTerms terms = honouring();
  terms.objectives = objectives;
  terms.expectations = expected;
  return judge(history, {.scenario = "s", .seed = 1, .faults = {}}, terms);
}

TEST(Objectives, AreHeldAtTheirVeryLength) {
  const Verdict verdict = judged(abandoned().finishes("drained"), {.longest_delay = 66s, .longest_block = 63s});
  EXPECT_TRUE(verdict.broken.empty());
}

TEST(Objectives, OneThatIsMissedIsAViolationWithItsEvidence) {
  const Verdict verdict = judged(abandoned().finishes("drained"), {.longest_delay = 65s, .longest_block = 1min});
  ASSERT_EQ(verdict.broken.size(), 2U);
  EXPECT_EQ(verdict.broken[0].invariant, "longest_delay");
  EXPECT_EQ(verdict.broken[0].why,
            "k was eligible at 0.000 s and accepted or flagged 66.000 s later; the scenario allows 65s");
  EXPECT_EQ(verdict.broken[1].why,
            "the lease of worker-1 on k was abandoned at 2.000 s and blocked the job for 63.000 s; the scenario allows "
            "1min");
  EXPECT_FALSE(verdict.broken[1].evidence.empty());
  EXPECT_EQ(exit_code(verdict), ExitCode::violated);
}

TEST(Objectives, WhatWasCutShortIsNotJudgedByWhatIsAbsent) {
  HistoryBuilder h;
  h.schedules("k").by("w").claims("k").ends(Ended::How::signalled, 11);
  const Verdict verdict = judged(h.at(30min).finishes("unsupported wait timerfd_create"),
                                 {.longest_delay = 1min, .longest_block = 1min}, {.delivered = 1});
  EXPECT_TRUE(verdict.broken.empty());
  EXPECT_EQ(exit_code(verdict), ExitCode::inconclusive);
}

TEST(Expectations, EachNumberThatDiffersIsTold) {
  Expectations expected{.jobs = 3,
                        .delivered = 1,
                        .flagged = 1,
                        .effects = 1,
                        .recognised = 1,
                        .expired_leases = 0,
                        .early_takeovers = 1,
                        .other_keys = 1,
                        .oldest_pending = 1s,
                        .attempts = {{"k", 1}, {"nobody", 1}}};
  std::vector<std::string> said;
  for (const RunViolation& broken : judged(abandoned().finishes("drained"), {}, expected).broken)
    said.push_back(broken.invariant + ": " + broken.why);
  EXPECT_THAT(said,
              ElementsAre("jobs: 3 expected, 2 found", "delivered: 1 expected, 2 found", "flagged: 1 expected, 0 found",
                          "effects: 1 expected, 2 found", "recognised: 1 expected, 0 found",
                          "expired_leases: 0 expected, 1 found", "early_takeovers: 1 expected, 0 found",
                          "other_keys: 1 expected, 0 found", "attempts k: 1 expected, 2 found",
                          "attempts nobody: 1 expected, 0 found", "oldest_pending: 1s expected, 0.000 s found"));
}

TEST(Expectations, AreMetByWhatHappened) {
  const Expectations expected{
      .jobs = 2, .delivered = 2, .expired_leases = 1, .oldest_pending = 0s, .attempts = {{"k", 2}}};
  EXPECT_EQ(exit_code(judged(abandoned().finishes("drained"), {}, expected)), ExitCode::held);
}

}  // namespace
}  // namespace halfsent
