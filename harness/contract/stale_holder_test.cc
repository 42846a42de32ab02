#include "harness/contract/testing.h"

namespace halfsent {
namespace {

// worker-1 overslept its lease, and worker-2 has claimed the job at 61 s.
HistoryBuilder taken_over() {
  HistoryBuilder h;
  h.schedules("k").at(2ms).by("worker-1").claims("k").at(61s).by("worker-2").claims("k", JobState::leased, 2);
  return h;
}

TEST(StaleHolder, WhoChangesNothingHolds) {
  HistoryBuilder h = taken_over();
  h.by("worker-1").delivers(1, "k").by("worker-2").delivers(2, "k").marks("k");
  EXPECT_EQ(told(ask_run(judge_stale_holder, h.cut_off())), "");
}

TEST(StaleHolder, WhoMarksAnothersJobIsTold) {
  HistoryBuilder h = taken_over();
  h.at(70s).by("worker-1").marks("k");
  EXPECT_EQ(told(ask_run(judge_stale_holder, h.cut_off())),
            "k: worker-1 marked it delivered at 70.000 s, although it held the job no more: claimed by worker-2 at "
            "61.000 s");
}

TEST(StaleHolder, WhoClearsOrProlongsOrFlagsAnothersLeaseIsOne) {
  const std::pair<JobState, const char*> offences[] = {{JobState::pending, "gave it back"},
                                                       {JobState::leased, "changed the lease"},
                                                       {JobState::flagged, "flagged it"},
                                                       {JobState::none, "removed the row"}};
  for (const auto& [to, what] : offences) {
    HistoryBuilder h = taken_over();
    h.at(70s).by("worker-1");
    h.add(LedgerChanged{.key = "k", .from = JobState::leased, .to = to, .attempts = 2, .lease_until = 130s});
    EXPECT_THAT(told(ask_run(judge_stale_holder, h.cut_off())), testing::HasSubstr(what));
  }
}

TEST(StaleHolder, WhoTakesADeliveryBackIsOne) {
  HistoryBuilder h = taken_over();
  h.delivers(1, "k").marks("k").at(70s).by("worker-1").changes("k", JobState::delivered, JobState::pending);
  EXPECT_THAT(told(ask_run(judge_stale_holder, h.cut_off())), testing::HasSubstr("worker-1 took the delivery back at"));
}

TEST(StaleHolder, WhoseLeaseAReaperEndedIsOneToo) {
  HistoryBuilder h;
  h.schedules("k").by("worker-1").claims("k").at(61s).by("reaper-1").changes("k", JobState::leased, JobState::pending);
  h.at(70s).by("worker-1").changes("k", JobState::pending, JobState::delivered);
  EXPECT_THAT(told(ask_run(judge_stale_holder, h.cut_off())),
              testing::HasSubstr("it held the job no more: put back to pending by reaper-1 at 61.000 s"));
}

TEST(StaleHolder, AnOrphanOfTheIncarnationBeforeIsOne) {
  HistoryBuilder h;
  h.schedules("k").by("w").claims("k").is_killed().at(61s).by("w", 2).claims("k", JobState::leased, 2);
  h.by("w", 1, 1).marks("k");
  EXPECT_EQ(ask_run(judge_stale_holder, h.cut_off()).broken.size(), 1u);
}

TEST(StaleHolder, ItMayClaimAgain) {
  HistoryBuilder h = taken_over();
  h.is_killed().at(122s).by("worker-1").claims("k", JobState::leased, 3).delivers(1, "k").marks("k");
  EXPECT_EQ(told(ask_run(judge_stale_holder, h.cut_off())), "");
}

TEST(StaleHolder, ItMayDoWhatAnybodyMayAboutALeaseThatHasRunOutOrADeadHolder) {
  HistoryBuilder late = taken_over();
  late.at(122s).by("worker-1").changes("k", JobState::leased, JobState::flagged);
  EXPECT_EQ(told(ask_run(judge_stale_holder, late.cut_off())), "");
  HistoryBuilder dead = taken_over();
  dead.is_killed().at(65s).by("worker-1").changes("k", JobState::leased, JobState::pending);
  EXPECT_EQ(told(ask_run(judge_stale_holder, dead.cut_off())), "");
}

TEST(StaleHolder, WhoNeverHeldItMayMarkIt) {
  HistoryBuilder h = taken_over();
  EXPECT_EQ(told(ask_run(judge_stale_holder, h.by("receiver-1").marks("k").cut_off())), "");
}

}  // namespace
}  // namespace halfsent
