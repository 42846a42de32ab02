#include "harness/contract/run_facts.h"

#include <memory>

#include "harness/contract/testing.h"

namespace halfsent {
namespace {

// The facts of a run with these faults, of which the history tells.
struct Told {
  Plan plan;
  History history;
  Facts facts;
  RunFacts run;
};

std::unique_ptr<Told> facts_of(std::vector<Fault> faults, const HistoryBuilder& h) {
  auto told = std::make_unique<Told>();
  told->plan = {.scenario = "s", .seed = 1, .faults = std::move(faults)};
  told->history = h.cut_off();
  told->facts = gather_facts(told->history, honouring());
  told->run = gather_run_facts(told->history, told->plan, told->facts, "");
  return told;
}

TEST(RunFacts, ARowThatShowedForAMomentIsNone) {
  HistoryBuilder h;
  h.by("s").add(CommitUncertain{.key = "k", .live = JobState::none, .cold = JobState::pending}).is_killed();
  h.by("w").schedules("k").changes("k", JobState::pending, JobState::none);
  EXPECT_TRUE(facts_of({}, h)->run.rows.empty());
}

TEST(RunFacts, WithoutDisturbanceADeadlineIsWhatIsAllowed) {
  EXPECT_EQ(facts_of({}, HistoryBuilder())->run.deadline(5s, 60s), 65s);
}

TEST(RunFacts, ADeathIsOverWhenTheActorIsThereAgain) {
  HistoryBuilder h;
  h.at(1s).by("w").fires(0, "kill w").is_killed().by("v").starts().at(30s).by("w", 2).starts();
  EXPECT_EQ(facts_of({Fault{.kind = FaultKind::kill, .target = "w"}}, h)->run.deadline(0s, 60s), 90s);
}

TEST(RunFacts, ADisturbanceThatComesAfterTheDeadlineIsNoExcuse) {
  HistoryBuilder h;
  h.at(61s).by("").fires(0, "stall downstream");
  const Fault stall{.kind = FaultKind::stall, .target = "downstream", .duration = 10s};
  EXPECT_EQ(facts_of({stall}, h)->run.deadline(0s, 60s), 60s);
  EXPECT_EQ(facts_of({stall}, h)->run.deadline(2s, 60s), 131s);
}

TEST(RunFacts, ARefusalForEverIsNeverOver) {
  HistoryBuilder h;
  h.by("w").fires(0, "refuse w");
  EXPECT_EQ(facts_of({Fault{.kind = FaultKind::refuse, .target = "w"}}, h)->run.deadline(0s, 60s), Nanoseconds::max());
}

TEST(RunFacts, ASkewIsGivenBothWays) {
  for (const Nanoseconds by : {Nanoseconds(61s), Nanoseconds(-61s)}) {
    HistoryBuilder h;
    h.by("w").fires(0, "skew w");
    const auto told = facts_of({Fault{.kind = FaultKind::skew, .target = "w", .duration = by}}, h);
    EXPECT_EQ(told->run.deadline(0s, 60s), 121s);
    EXPECT_TRUE(told->run.clock_is_off("w"));
    EXPECT_FALSE(told->run.clock_is_off("v"));
  }
}

TEST(RunFacts, AFaultThatNeverFiredDisturbsNothing) {
  const auto told = facts_of({Fault{.kind = FaultKind::skew, .target = "w", .duration = 61s}}, HistoryBuilder());
  EXPECT_FALSE(told->run.clock_is_off("w"));
  EXPECT_FALSE(told->run.is_disturbed(0s, 1h));
}

TEST(RunFacts, WhoEndedIsDeadUnlessAProcessOfItGoesOn) {
  HistoryBuilder h;
  h.by("w").starts().is_killed().by("v").starts().by("w", 1, 1).stops("write", "pipe");
  const auto told = facts_of({}, h);
  EXPECT_TRUE(told->run.is_alive_after({"w", 1}, 1));
  EXPECT_TRUE(told->run.is_alive_after({"w", 1}, 2));
  EXPECT_FALSE(told->run.is_alive_after({"w", 1}, 3));
  EXPECT_TRUE(told->run.is_alive_after({"w", 2}, 3));
}

}  // namespace
}  // namespace halfsent
