#include "harness/contract/judge.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <set>
#include <tuple>

#include "harness/contract/testing.h"

namespace halfsent {
namespace {

const Plan no_faults{.scenario = "s", .seed = 1, .faults = {}};

VerdictKind kind_of(const History& history, const ContractTerms& terms = honouring()) {
  const Verdict verdict = judge(history, no_faults, terms);
  EXPECT_EQ(verdict.keys.size(), 1u);
  return verdict.keys.at(0).kind;
}

TEST(Judge, TheTableNamesEachViolationOnce) {
  std::set<VerdictKind> kinds;
  for (const auto& invariant : invariant_table()) {
    EXPECT_EQ(invariant.name, to_string(invariant.kind));
    EXPECT_TRUE(is_violation(invariant.kind));
    EXPECT_TRUE(kinds.insert(invariant.kind).second);
  }
  EXPECT_EQ(kinds.size(), 8u);
}

TEST(Judge, EachInvariantHasANameOfItsOwn) {
  const std::vector<std::string> names = invariant_names();
  EXPECT_EQ(names.size(), invariant_table().size() + run_invariant_table().size());
  EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), names.size());
}

// worker-1 overslept its lease and marks what worker-2 holds.
HistoryBuilder marked_by_a_stale_holder() {
  HistoryBuilder h;
  h.schedules("k").by("worker-1").claims("k").delivers(1, "k").at(61s).by("worker-2");
  h.claims("k", JobState::leased, 2).by("worker-1").marks("k");
  return h;
}

TEST(Judge, ABrokenInvariantOfTheRunIsAViolationThoughEachJobIsFine) {
  const Verdict verdict = judge(marked_by_a_stale_holder().finishes("drained"), no_faults, honouring());
  EXPECT_EQ(verdict.keys.at(0).kind, VerdictKind::once);
  ASSERT_EQ(verdict.broken.size(), 1u);
  EXPECT_EQ(verdict.broken[0].invariant, "stale_holder");
  EXPECT_EQ(verdict.broken[0].key, "k");
  EXPECT_EQ(exit_code(verdict), ExitCode::violated);
}

TEST(Judge, WhatWasJudgedAndWhatNotAndWhyIsTold) {
  ContractTerms terms = honouring();
  terms.without = {"stale_holder", "lost"};
  const Verdict verdict = judge(marked_by_a_stale_holder().finishes("drained"), no_faults, terms);
  EXPECT_EQ(exit_code(verdict), ExitCode::held);
  EXPECT_THAT(verdict.judged, testing::Contains("early_reclaim"));
  EXPECT_THAT(verdict.judged, testing::Not(testing::Contains("stale_holder")));
  EXPECT_THAT(verdict.judged, testing::Not(testing::Contains("lost")));
  EXPECT_THAT(verdict.not_judged,
              testing::IsSupersetOf({NotJudged{"stale_holder", "turned off"}, NotJudged{"lost", "turned off"},
                                     NotJudged{"pending_age", "rows show no due_at"}}));
}

TEST(Judge, EveryInvariantIsEitherJudgedOrNotAndCanBeTurnedOff) {
  for (const std::string& name : invariant_names()) {
    ContractTerms terms = honouring();
    terms.without = {name};
    const Verdict verdict = judge(marked_by_a_stale_holder().finishes("drained"), no_faults, terms);
    EXPECT_THAT(verdict.not_judged, testing::Contains(NotJudged{name, "turned off"}));
    EXPECT_THAT(verdict.judged, testing::Not(testing::Contains(name)));
  }
}

TEST(Judge, AcceptedAndMarkedIsOnce) {
  HistoryBuilder h;
  h.schedules("k").at(1ms).by("w").claims("k").at(4ms).delivers(1, "k").at(5ms).marks("k");
  const Verdict verdict = judge(h.at(30min).finishes("horizon"), no_faults, honouring());
  ASSERT_EQ(verdict.keys.size(), 1u);
  EXPECT_EQ(verdict.keys[0].kind, VerdictKind::once);
  EXPECT_EQ(verdict.keys[0].why, "accepted once, from w at 0.004 s, marked delivered by w at 0.005 s");
  EXPECT_THAT(verdict.keys[0].evidence, testing::ElementsAre(3, 5));
  EXPECT_FALSE(verdict.keys[0].indeterminate);
  EXPECT_EQ(verdict.accepted, 1);
  EXPECT_EQ(verdict.last_terminal, 5ms);
  EXPECT_EQ(exit_code(verdict), ExitCode::held);
}

TEST(Judge, AFlaggedJobIsFlaggedWithOrWithoutOneAccept) {
  HistoryBuilder h;
  h.schedules("k").by("w").claims("k").changes("k", JobState::leased, JobState::flagged, "exhausted");
  EXPECT_EQ(kind_of(h.finishes("drained")), VerdictKind::flagged);
  HistoryBuilder g;
  g.schedules("k").by("w").claims("k").requests(1, "k").accepts(1, "k").responds(1, "k", 0, "drop");
  g.changes("k", JobState::leased, JobState::flagged, "review");
  EXPECT_EQ(kind_of(g.finishes("drained")), VerdictKind::flagged);
}

TEST(Judge, AFlaggedJobThatWasAcceptedTwiceIsADuplicate) {
  HistoryBuilder h;
  h.schedules("k").by("w").claims("k").delivers(1, "k").delivers(2, "k");
  h.changes("k", JobState::leased, JobState::flagged, "review");
  EXPECT_EQ(kind_of(h.finishes("drained")), VerdictKind::duplicate);
}

TEST(Judge, TheGravestViolationIsTheVerdictAndTheOthersAreNotes) {
  HistoryBuilder h;
  h.schedules("k").by("w").claims("k").delivers(1, "k").delivers(2, "k");
  const Verdict verdict = judge(h.finishes("horizon"), no_faults, honouring());
  EXPECT_EQ(verdict.keys.at(0).kind, VerdictKind::duplicate);
  EXPECT_THAT(verdict.notes, testing::ElementsAre(testing::StartsWith("k is also stuck: still leased")));
}

TEST(Judge, AnAllowedRepeatIsOnceAndIsToldInTheNotes) {
  HistoryBuilder h;
  h.schedules("k").at(4ms).by("w").claims("k").requests(1, "k").accepts(1, "k").is_killed();
  h.at(61s).by("w", 2).claims("k", JobState::leased, 2).delivers(2, "k").marks("k");
  const Verdict verdict = judge(h.finishes("drained"), no_faults, ignoring(OnDoubt::retry));
  EXPECT_EQ(verdict.keys.at(0).kind, VerdictKind::once);
  EXPECT_TRUE(verdict.keys.at(0).indeterminate);
  EXPECT_THAT(
      verdict.notes,
      testing::ElementsAre("k was accepted twice; allowed, since the scenario says on_doubt = \"retry\": w died at "
                           "0.004 s, before the job was marked"));
}

TEST(Judge, ADeduplicatedRepeatIsOnceAndStillIndeterminate) {
  HistoryBuilder h;
  h.schedules("k").by("w").claims("k").requests(1, "k").accepts(1, "k").is_killed();
  h.by("v").claims("k", JobState::leased, 2).requests(2, "k").accepts(2, "k", true).responds(2, "k").marks("k");
  const Verdict verdict = judge(h.finishes("drained"), no_faults, honouring());
  EXPECT_EQ(verdict.keys.at(0).kind, VerdictKind::once);
  EXPECT_TRUE(verdict.keys.at(0).indeterminate);
  EXPECT_EQ(verdict.accepted, 1);
  EXPECT_EQ(verdict.deduplicated, 1);
}

TEST(Judge, DoubtWithoutAStatedChoiceIsNoted) {
  HistoryBuilder h;
  h.schedules("k").by("w").claims("k").requests(1, "k").accepts(1, "k").responds(1, "k", 0, "drop").marks("k");
  EXPECT_THAT(judge(h.cut_off(), no_faults, ignoring(OnDoubt::unstated)).notes,
              testing::ElementsAre(testing::HasSubstr("the scenario must say on_doubt")));
  EXPECT_THAT(judge(h.cut_off(), no_faults, ignoring(OnDoubt::flag)).notes, testing::IsEmpty());
}

TEST(Judge, WithoutKeysInTheTermsEveryKeyOfTheLedgerIsJudgedInOrder) {
  HistoryBuilder h;
  h.schedules("b").schedules("a");
  const Verdict verdict = judge(h.finishes("horizon"), no_faults, honouring());
  ASSERT_EQ(verdict.keys.size(), 2u);
  EXPECT_EQ(verdict.keys[0].key, "a");
  EXPECT_EQ(verdict.keys[1].key, "b");
}

TEST(Judge, KeysBeyondTheTermsAreNotedNotJudged) {
  HistoryBuilder h;
  h.schedules("a").schedules("b\n").by("w").delivers(1, "a").marks("a", JobState::pending).delivers(2, "ghost");
  const Verdict verdict = judge(h.finishes("horizon"), no_faults, honouring({"a"}));
  ASSERT_EQ(verdict.keys.size(), 2u);
  EXPECT_EQ(verdict.keys[1].key, "ghost");
  EXPECT_THAT(verdict.notes, testing::Contains("not judged, because the scenario does not list them: \"b\\n\""));
}

TEST(Judge, AnAcceptForAJobWithoutARowIsAGhostWhateverTheTermsList) {
  HistoryBuilder h;
  h.schedules("a").by("w").claims("a").delivers(1, "a").marks("a").delivers(2, "b");
  const Verdict verdict = judge(h.finishes("horizon"), no_faults, honouring({"a"}));
  ASSERT_EQ(verdict.keys.size(), 2u);
  EXPECT_EQ(verdict.keys[0].kind, VerdictKind::once);
  EXPECT_EQ(verdict.keys[1].kind, VerdictKind::ghost);
}

TEST(Judge, AnInvariantThatIsTurnedOffSaysNothing) {
  HistoryBuilder h;
  h.schedules("k").by("w").claims("k").delivers(1, "k").delivers(2, "k").marks("k");
  ContractTerms terms = honouring();
  EXPECT_EQ(kind_of(h.finishes("horizon"), terms), VerdictKind::duplicate);
  terms.without = {"duplicate"};
  EXPECT_EQ(kind_of(h.finishes("horizon"), terms), VerdictKind::once);
}

TEST(Judge, AnExecutionCutShortJudgesWhatHappenedAndNotWhatIsAbsent) {
  HistoryBuilder h;
  h.schedules("open").schedules("done").schedules("twice").by("w").claims("done").delivers(1, "done").marks("done");
  h.claims("twice").delivers(2, "twice").delivers(3, "twice");
  const Verdict verdict = judge(h.at(9s).finishes("deadlock"), no_faults, honouring());
  ASSERT_EQ(verdict.keys.size(), 2u);
  EXPECT_EQ(verdict.keys[0].kind, VerdictKind::once);
  EXPECT_EQ(verdict.keys[1].kind, VerdictKind::duplicate);
  EXPECT_THAT(verdict.inconclusive,
              testing::ElementsAre("the execution ended at 9.000 s: deadlock",
                                   "not judged, because the execution did not run its course: open"));
}

TEST(Judge, AWorkerThatDiesUnaskedIsNoFindingAboutWhatItLeftOpen) {
  HistoryBuilder h;
  h.schedules("open").by("w").ends(Ended::How::exited, 3);
  const Verdict verdict = judge(h.finishes("all exited"), no_faults, honouring());
  EXPECT_TRUE(verdict.keys.empty());
  EXPECT_EQ(exit_code(verdict), ExitCode::inconclusive);
}

TEST(Judge, NotesOfTheHistoryAreCarriedOnce) {
  HistoryBuilder h;
  h.schedules("k").notes("wrote outside the world: /var/x").notes("wrote outside the world: /var/x");
  EXPECT_THAT(judge(h.finishes("horizon"), no_faults, honouring()).notes,
              testing::ElementsAre("wrote outside the world: /var/x"));
}

TEST(Judge, AGuessedJobMakesTheRunInconclusive) {
  HistoryBuilder h;
  h.schedules("a").schedules("b").by("w").claims("a").claims("b").delivers(1, "").delivers(2, "").marks("a").marks("b");
  const Verdict verdict = judge(h.finishes("drained"), no_faults, honouring());
  EXPECT_EQ(exit_code(verdict), ExitCode::inconclusive);
  EXPECT_THAT(verdict.inconclusive, testing::ElementsAre(testing::HasSubstr("say in [downstream]")));
}

TEST(ExitCodeOf, AViolationBeatsInconclusiveBeatsNotReached) {
  Verdict verdict;
  verdict.keys.push_back({.key = "k", .kind = VerdictKind::once, .why = {}, .evidence = {}, .indeterminate = false});
  EXPECT_EQ(exit_code(verdict), ExitCode::held);
  verdict.not_reached.push_back("kill w at after_claim");
  EXPECT_EQ(exit_code(verdict), ExitCode::not_reached);
  verdict.inconclusive.push_back("w exited");
  EXPECT_EQ(exit_code(verdict), ExitCode::inconclusive);
  verdict.keys[0].kind = VerdictKind::lost;
  EXPECT_EQ(exit_code(verdict), ExitCode::violated);
}

TEST(ExitCodeOf, AVerdictOnNoJobIsNoPass) { EXPECT_EQ(exit_code(Verdict{}), ExitCode::not_reached); }

TEST(ExitCodeOf, SeveralCodesFollowThePrecedence) {
  const std::vector<ExitCode> order = {ExitCode::harness_fault, ExitCode::violated,    ExitCode::diverged,
                                       ExitCode::inconclusive,  ExitCode::not_reached, ExitCode::incomplete,
                                       ExitCode::held};
  for (std::size_t i = 0; i < order.size(); ++i) {
    for (std::size_t j = i; j < order.size(); ++j) {
      EXPECT_EQ(more_serious(order[i], order[j]), order[i]);
      EXPECT_EQ(more_serious(order[j], order[i]), order[i]);
    }
  }
}

// Any soup of events: judging never throws, keys are ordered and unique, and violations carry evidence and a sentence.
RC_GTEST_PROP(Judge, NeverThrowsAndAlwaysExplainsItself, ()) {
  HistoryBuilder h;
  const auto steps = *rc::gen::container<std::vector<std::tuple<int, int, int>>>(
      rc::gen::tuple(rc::gen::inRange(0, 10), rc::gen::inRange(0, 3), rc::gen::inRange(0, 6)));
  for (const auto& [what, which, value] : steps) {
    const std::string key = which == 2 ? "" : std::string(1, static_cast<char>('a' + which));
    h.at(std::chrono::milliseconds{value}).by(fmt::format("w{}", which), value);
    switch (what) {
      case 0:
        h.schedules(key);
        break;
      case 1:
        h.changes(key, static_cast<JobState>(which), static_cast<JobState>(value));
        break;
      case 2:
        h.requests(value, key);
        break;
      case 3:
        h.accepts(value, key, which == 1);
        break;
      case 4:
        h.responds(value, key, 100 * value, which == 1 ? "drop" : "full");
        break;
      case 5:
        h.ends(static_cast<Ended::How>(value % 4), which);
        break;
      case 6:
        h.fires(value - 1, "x");
        break;
      case 7:
        h.waits("poll", std::chrono::milliseconds{value});
        break;
      case 8:
        h.finishes(value % 2 == 0 ? "horizon" : "deadlock");
        break;
      default:
        h.claims(key);
        break;
    }
  }
  ContractTerms terms = ignoring(static_cast<OnDoubt>(*rc::gen::inRange(0, 3)));
  terms.downstream_honours_key = *rc::gen::arbitrary<bool>();
  terms.eligible = *rc::gen::element(std::vector<std::string>{}, std::vector<std::string>{"a", "c"});
  if (*rc::gen::arbitrary<bool>()) terms.max_attempts = 1;
  const Verdict verdict = judge(h.cut_off(), no_faults, terms);
  for (std::size_t i = 0; i < verdict.keys.size(); ++i) {
    const KeyVerdict& key = verdict.keys[i];
    RC_ASSERT((i == 0 || verdict.keys[i - 1].key < key.key));  // in parentheses: RC_ASSERT does not stop at ||
    RC_ASSERT(!key.why.empty());
    RC_ASSERT(std::is_sorted(key.evidence.begin(), key.evidence.end()));
    RC_ASSERT((!is_violation(key.kind) || !key.evidence.empty()));
    for (const Seq seq : key.evidence) RC_ASSERT(seq < h.cut_off().events.size());
  }
  for (const RunViolation& broken : verdict.broken) {
    RC_ASSERT(!broken.why.empty());
    RC_ASSERT(!broken.evidence.empty());
    RC_ASSERT(std::is_sorted(broken.evidence.begin(), broken.evidence.end()));
    for (const Seq seq : broken.evidence) RC_ASSERT(seq < h.cut_off().events.size());
  }
}

Plan kept_away_plan(RestartMode mode) {
  Fault kill{.kind = FaultKind::kill, .target = "worker-1"};
  kill.at = Anchor{.boundary = "after_claim", .key = "k"};
  return {.scenario = "s",
          .seed = 1,
          .faults = {kill, Fault{.kind = FaultKind::restart, .target = "worker-1", .restart = mode}}};
}

HistoryBuilder killed_after_claim() {
  HistoryBuilder h;
  h.by("worker-1").starts().by("").schedules("k").by("worker-1").claims("k");
  h.fires(0, "kill worker-1 at after_claim k").is_killed();
  return h;
}

TEST(Judge, WhatNobodyIsLeftToDoIsNotJudged) {
  const Plan plan = kept_away_plan(RestartMode::never);
  const Verdict verdict = judge(killed_after_claim().at(30min).finishes("all exited"), plan, honouring());
  EXPECT_THAT(verdict.keys, testing::IsEmpty());
  EXPECT_THAT(verdict.inconclusive,
              testing::ElementsAre("not judged, because nobody was left to do it: k; missing: worker-1, whom the plan "
                                   "killed and did not let come back"));
  EXPECT_EQ(exit_code(verdict), ExitCode::inconclusive);
}

TEST(Judge, APeerThatIsLeftMustDoIt) {
  HistoryBuilder h = killed_after_claim();
  h.by("worker-2").starts();
  const Verdict verdict = judge(h.at(30min).finishes("horizon"), kept_away_plan(RestartMode::never), honouring());
  ASSERT_EQ(verdict.keys.size(), 1u);
  EXPECT_EQ(verdict.keys[0].kind, VerdictKind::stuck);
}

TEST(Judge, AnActorOfAnotherKindIsNoPeer) {
  HistoryBuilder h = killed_after_claim();
  h.by("scheduler-1").starts();
  EXPECT_EQ(exit_code(judge(h.at(30min).finishes("horizon"), kept_away_plan(RestartMode::never), honouring())),
            ExitCode::inconclusive);
}

TEST(Judge, WhoCameBackMustDoIt) {
  HistoryBuilder h = killed_after_claim();
  h.by("worker-1", 2).starts();
  const Verdict verdict = judge(h.at(30min).finishes("horizon"), kept_away_plan(RestartMode::after), honouring());
  ASSERT_EQ(verdict.keys.size(), 1u);
  EXPECT_EQ(verdict.keys[0].kind, VerdictKind::stuck);
}

TEST(Judge, WhatWasDoneTwiceIsAViolationWhoeverIsLeft) {
  HistoryBuilder h = killed_after_claim();
  h.by("worker-1").delivers(1, "", "k").delivers(2, "", "k");
  const Verdict verdict = judge(h.at(30min).finishes("all exited"), kept_away_plan(RestartMode::never), honouring());
  ASSERT_EQ(verdict.keys.size(), 1u);
  EXPECT_EQ(verdict.keys[0].kind, VerdictKind::duplicate);
}

}  // namespace
}  // namespace halfsent
