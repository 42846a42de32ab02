#include "harness/contract/earned.h"

#include "harness/contract/testing.h"

namespace halfsent {
namespace {

Fault at_accept(FaultKind kind, std::string target) {
  Fault fault{.kind = kind, .target = std::move(target)};
  fault.at = Anchor{.boundary = "after_accept", .key = "k", .occurrence = 1};
  return fault;
}
Plan plan_of(std::vector<Fault> faults) { return {.scenario = "s", .seed = 1, .faults = std::move(faults)}; }

Verdict faults_of(const History& history, const Plan& plan) {
  Verdict verdict;
  check_faults(history, plan, verdict);
  return verdict;
}

TEST(EarnedPass, EveryAnchoredFaultMustFire) {
  const Plan plan = plan_of({at_accept(FaultKind::kill, "w"), at_accept(FaultKind::drop, "downstream")});
  HistoryBuilder h;
  h.by("w").fires(0, "kill w at after_accept k").fires(0, "again");
  const Verdict verdict = faults_of(h.finishes("drained"), plan);
  EXPECT_EQ(verdict.faults_planned, 2);
  EXPECT_EQ(verdict.faults_fired, 1);
  EXPECT_THAT(verdict.not_reached, testing::ElementsAre("drop downstream at after_accept k"));
}

TEST(EarnedPass, AConditionNeedNotFireButARefusalMust) {
  const Plan plan = plan_of({Fault{.kind = FaultKind::skew, .target = "w", .duration = 5s},
                             Fault{.kind = FaultKind::restart, .target = "w", .restart = RestartMode::never},
                             Fault{.kind = FaultKind::refuse, .target = "w"}});
  HistoryBuilder h;
  const Verdict verdict = faults_of(h.finishes("drained"), plan);
  EXPECT_EQ(verdict.faults_planned, 1);
  EXPECT_THAT(verdict.not_reached, testing::ElementsAre(testing::StartsWith("refuse w")));
}

TEST(EarnedPass, AFiredFaultThatThePlanLacksIsNotCounted) {
  HistoryBuilder h;
  const Verdict verdict = faults_of(h.fires(3, "x").fires(-1, "y").finishes("drained"), plan_of({}));
  EXPECT_EQ(verdict.faults_planned, 0);
  EXPECT_EQ(verdict.faults_fired, 0);
}

std::vector<std::string> deaths_of(const History& history, const Plan& plan = plan_of({})) {
  Verdict verdict;
  check_deaths(history, plan, verdict);
  return verdict.inconclusive;
}

TEST(EarnedPass, AnExitWithACodeIsAnUnplannedDeath) {
  HistoryBuilder h;
  h.at(300ms).by("worker-1", 2).ends(Ended::How::exited, 1);
  EXPECT_THAT(
      deaths_of(h.finishes("all exited")),
      testing::ElementsAre("worker-1 (incarnation 2) exited with code 1 at 0.300 s, which the plan did not ask for"));
}

TEST(EarnedPass, AnUnaskedSignalIsAnUnplannedDeath) {
  HistoryBuilder h;
  h.by("w").ends(Ended::How::signalled, 11);
  EXPECT_THAT(deaths_of(h.finishes("all exited")),
              testing::ElementsAre("w was ended by signal 11 at 0.000 s, which the plan did not ask for"));
}

TEST(EarnedPass, PlannedKillsCleanExitsAndTheEndOfTheWorldAreAskedFor) {
  HistoryBuilder h;
  h.by("a").is_killed().by("b").ends(Ended::How::exited, 0).by("c").ends(Ended::How::ended_with_world, 9);
  EXPECT_THAT(deaths_of(h.finishes("all exited")), testing::IsEmpty());
}

TEST(EarnedPass, ATermAsksForTheNextDeathOfItsTargetOnly) {
  const Plan plan = plan_of({at_accept(FaultKind::term, "w")});
  HistoryBuilder h;
  h.by("w").fires(0, "term w").ends(Ended::How::signalled, 15);
  EXPECT_THAT(deaths_of(h.cut_off(), plan), testing::IsEmpty());
  h.by("w", 2).ends(Ended::How::exited, 143).by("v").ends(Ended::How::signalled, 15);
  EXPECT_THAT(deaths_of(h.cut_off(), plan),
              testing::ElementsAre(testing::HasSubstr("exited with code 143"), testing::StartsWith("v was ended")));
}

TEST(EarnedPass, ATermDoesNotExcuseACrash) {
  HistoryBuilder h;
  h.by("w").fires(0, "term w").ends(Ended::How::signalled, 11);
  EXPECT_THAT(deaths_of(h.cut_off(), plan_of({at_accept(FaultKind::term, "w")})), testing::SizeIs(1));
}

TEST(EarnedPass, WhoseLedgerFailsByPlanMayGiveUpButNotCrash) {
  Fault io_error = at_accept(FaultKind::io_error, "w");
  HistoryBuilder h;
  h.by("w").fires(0, "io_error w EIO").ends(Ended::How::exited, 1);
  EXPECT_THAT(deaths_of(h.cut_off(), plan_of({io_error})), testing::IsEmpty());
  h.by("w", 2).ends(Ended::How::exited, 1).by("v").ends(Ended::How::exited, 1);
  EXPECT_THAT(deaths_of(h.cut_off(), plan_of({io_error})), testing::SizeIs(2));

  for (const FaultKind kind : {FaultKind::busy, FaultKind::read_only}) {
    const Plan plan = plan_of({at_accept(kind, "ledger")});
    HistoryBuilder all;
    all.by("w").ends(Ended::How::exited, 1).by("w").fires(0, "x").ends(Ended::How::exited, 1);
    all.by("v").ends(Ended::How::exited, 1).by("v", 2).ends(Ended::How::signalled, 6);
    EXPECT_THAT(deaths_of(all.cut_off(), plan),
                testing::ElementsAre(testing::StartsWith("w exited with code 1"), testing::HasSubstr("signal 6")));
  }
}

TEST(EarnedPass, HowAChildEndsIsItsParentsAffair) {
  HistoryBuilder h;
  h.by("w", 1, 2).ends(Ended::How::exited, 1).ends(Ended::How::signalled, 13);
  Verdict verdict;
  check_deaths(h.cut_off(), plan_of({}), verdict);
  EXPECT_THAT(verdict.inconclusive, testing::IsEmpty());
  EXPECT_THAT(verdict.notes, testing::ElementsAre(testing::HasSubstr("w/2 was ended by signal 13")));
}

std::vector<std::string> end_of(const History& history) {
  Verdict verdict;
  check_end(history, verdict);
  return verdict.inconclusive;
}

TEST(EarnedPass, OnlyAnEndByItselfIsConclusive) {
  for (const char* reason : {"drained", "horizon", "all exited"}) {
    EXPECT_THAT(end_of(HistoryBuilder().finishes(reason)), testing::IsEmpty()) << reason;
  }
  EXPECT_THAT(end_of(HistoryBuilder().at(2s).finishes("deadlock", "w waits for v")),
              testing::ElementsAre("the execution ended at 2.000 s: deadlock: w waits for v"));
  EXPECT_THAT(end_of(HistoryBuilder().at(2s).finishes("spins")),
              testing::ElementsAre("the execution ended at 2.000 s: spins"));
  EXPECT_THAT(end_of(HistoryBuilder().cut_off()), testing::ElementsAre(testing::HasSubstr("cut off")));
}

}  // namespace
}  // namespace halfsent
