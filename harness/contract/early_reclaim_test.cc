#include "harness/contract/testing.h"

namespace halfsent {
namespace {

HistoryBuilder leased_to_worker_1() {
  HistoryBuilder h;
  h.schedules("k").by("worker-1").starts().by("worker-2").starts().at(2ms).by("worker-1").claims("k");
  return h;
}

TEST(EarlyReclaim, AfterTheExpiryHolds) {
  HistoryBuilder h = leased_to_worker_1();
  h.at(60'010ms).by("worker-2").claims("k", JobState::leased, 2);
  EXPECT_EQ(told(ask_run(judge_early_reclaim, h.cut_off())), "");
}

TEST(EarlyReclaim, ALivingHolderThatIsRobbedIsToldWithItsLease) {
  HistoryBuilder h = leased_to_worker_1();
  h.at(40s).by("worker-2").claims("k", JobState::leased, 2);
  EXPECT_EQ(told(ask_run(judge_early_reclaim, h.cut_off())),
            "k: claimed by worker-2 at 40.000 s, although worker-1 held it until 60.002 s and was alive");
}

TEST(EarlyReclaim, AReaperThatResetsOrFlagsALiveLeaseIsOne) {
  for (const JobState to : {JobState::pending, JobState::flagged}) {
    HistoryBuilder h = leased_to_worker_1();
    h.at(40s).by("reaper-1").changes("k", JobState::leased, to);
    EXPECT_EQ(ask_run(judge_early_reclaim, h.cut_off()).broken.size(), 1u) << to_string(to);
  }
}

TEST(EarlyReclaim, TheHolderMayGiveItBackAndAnyoneMayMarkIt) {
  HistoryBuilder h = leased_to_worker_1();
  h.at(3s).changes("k", JobState::leased, JobState::pending).claims("k", JobState::pending, 2);
  h.by("receiver-1").marks("k");
  EXPECT_EQ(told(ask_run(judge_early_reclaim, h.cut_off())), "");
}

TEST(EarlyReclaim, OfADeadHolderNobodyIsRobbed) {
  HistoryBuilder h = leased_to_worker_1();
  h.is_killed().at(5s).by("worker-1", 2).starts().changes("k", JobState::leased, JobState::pending);
  EXPECT_EQ(told(ask_run(judge_early_reclaim, h.cut_off())), "");
}

TEST(EarlyReclaim, AnOrphanOfTheHolderIsAlive) {
  HistoryBuilder h = leased_to_worker_1();
  h.is_killed().at(5s).by("worker-2").claims("k", JobState::leased, 2);
  h.by("worker-1", 1, 1).stops("sendto", "downstream");
  EXPECT_EQ(ask_run(judge_early_reclaim, h.cut_off()).broken.size(), 1u);
}

TEST(EarlyReclaim, ALeaseThatWasThereFromTheStartIsJudgedToo) {
  HistoryBuilder h;
  h.claims("k", JobState::none).at(30s).by("w").claims("k", JobState::leased, 2);
  EXPECT_EQ(told(ask_run(judge_early_reclaim, h.cut_off())),
            "k: claimed by w at 30.000 s, although it was leased until 60.000 s");
}

TEST(EarlyReclaim, ALedgerThatCountsInSecondsIsGivenOne) {
  HistoryBuilder h = leased_to_worker_1();
  h.at(59'100ms).by("worker-2").claims("k", JobState::leased, 2);
  EXPECT_EQ(told(ask_run(judge_early_reclaim, h.cut_off())), "");
}

TEST(EarlyReclaim, WhoseClockThePlanPutWrongIsNotJudgedAndTheOthersAre) {
  const Plan plan{
      .scenario = "s", .seed = 1, .faults = {Fault{.kind = FaultKind::skew, .target = "worker-2", .duration = 61s}}};
  HistoryBuilder h;
  h.by("worker-2").fires(0, "skew worker-2 61s").by("").schedules("k").by("worker-1").claims("k");
  HistoryBuilder other = h;
  h.at(1s).by("worker-2").claims("k", JobState::leased, 2);
  EXPECT_EQ(told(ask_run(judge_early_reclaim, h.cut_off(), honouring(), plan)), "");
  other.at(1s).by("worker-3").claims("k", JobState::leased, 2);
  EXPECT_EQ(ask_run(judge_early_reclaim, other.cut_off(), honouring(), plan).broken.size(), 1u);
}

TEST(EarlyReclaim, WithoutLeasesItIsNotJudged) {
  HistoryBuilder h;
  h.schedules("k").by("w").changes("k", JobState::pending, JobState::leased);
  EXPECT_EQ(told(ask_run(judge_early_reclaim, h.cut_off())), "not judged: rows show no lease_until");
}

}  // namespace
}  // namespace halfsent
