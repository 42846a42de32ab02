#include "harness/contract/testing.h"

namespace halfsent {
namespace {

TEST(Ghost, AnAcceptForAJobThatTheLedgerNeverHadIsOne) {
  HistoryBuilder h;  // published before the commit, which was rolled back
  h.schedules("a").at(2ms).by("worker-1").delivers(1, "k", "k");
  const Said said = ask(is_ghost, h.at(30min).finishes("horizon"));
  ASSERT_TRUE(said.violated);
  EXPECT_EQ(said.verdict.kind, VerdictKind::ghost);
  EXPECT_EQ(said.verdict.why,
            "accepted once, from worker-1 at 0.002 s; the ledger never had a row for it: what was sent had not been "
            "scheduled for good");
  EXPECT_THAT(said.verdict.evidence, testing::ElementsAre(2, 4));
}

TEST(Ghost, ARowThatAFailoverLostIsOne) {
  HistoryBuilder h;
  h.by("scheduler-1").schedules("k").by("w").claims("k").delivers(1, "k");
  h.at(5s).by("").changes("k", JobState::leased, JobState::none);
  EXPECT_EQ(ask(is_ghost, h.finishes("horizon")).verdict.why,
            "accepted once, from w at 0.000 s; the ledger lost its row at 5.000 s and never had one again");
}

TEST(Ghost, ARowThatCameLaterOrWasPurgedIsNone) {
  HistoryBuilder late;
  late.by("w").delivers(1, "k", "k").by("scheduler-1").schedules("k");
  EXPECT_FALSE(ask(is_ghost, late.finishes("horizon")).violated);
  HistoryBuilder purged;
  purged.schedules("k").by("w").claims("k").delivers(1, "k").marks("k");
  purged.by("operator-1").changes("k", JobState::delivered, JobState::none);
  EXPECT_FALSE(ask(is_ghost, purged.finishes("drained")).violated);
}

TEST(Ghost, AWorkerThatHasClaimedOthersBeforeIsNotTakenForTheirs) {
  HistoryBuilder h;
  h.schedules("a").by("w").claims("a").delivers(1, "a").marks("a").delivers(2, "k", "k");
  EXPECT_TRUE(ask(is_ghost, h.finishes("horizon")).violated);
}

TEST(Ghost, IsNotClaimedOfAnExecutionThatWasCutShort) {
  HistoryBuilder h;
  h.by("w").delivers(1, "k", "k");
  EXPECT_FALSE(ask(is_ghost, h.finishes("spins")).violated);
}

TEST(Ghost, AMadeUpKeyOfAClaimedJobIsNone) {
  HistoryBuilder h;
  h.schedules("k").by("w").claims("k").delivers(1, "uuid-1").delivers(2, "uuid-2").marks("k");
  const History history = h.finishes("drained");
  EXPECT_THAT(gather_facts(history, honouring()).jobs, testing::SizeIs(1));
}

}  // namespace
}  // namespace halfsent
