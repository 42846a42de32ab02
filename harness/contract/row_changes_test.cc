#include "harness/contract/row_changes.h"

#include "harness/contract/testing.h"

namespace halfsent {
namespace {

// "claim w1, renewal, claim w2": what each change of "k" was.
std::string told(const HistoryBuilder& h) {
  const Facts facts = gather_facts(h.cut_off(), honouring());
  std::string text;
  for (const RowChange& change : row_changes(facts.jobs.at("k"))) {
    text += text.empty() ? "" : ", ";
    text += change.is_claim ? "claim" : change.recovered ? "recovery" : "change";
    if (!change.by.actor.empty()) text += " " + change.by.actor;
    if (change.holder) text += " (" + change.holder->actor + ")";
  }
  return text;
}

LedgerChanged leased(JobState from, const std::string& token, Nanoseconds until, std::int64_t attempts = -1) {
  return {.key = "k",
          .from = from,
          .to = JobState::leased,
          .raw_state = "leased",
          .attempts = attempts,
          .lease_until = until,
          .token = token};
}

TEST(RowChanges, ARowThatWasLeasedFromTheStartIsNobodysClaim) {
  HistoryBuilder h;
  h.add(leased(JobState::none, "", 60s)).at(61s).by("w").add(leased(JobState::leased, "", 121s));
  EXPECT_EQ(told(h), "change, change w");
}

TEST(RowChanges, AnotherTokenIsAClaimAndTheSameIsNot) {
  HistoryBuilder h;
  h.schedules("k").by("w").add(leased(JobState::pending, "1", 60s)).at(30s).add(leased(JobState::leased, "1", 90s));
  h.by("v").add(leased(JobState::leased, "1", 95s)).add(leased(JobState::leased, "2", 95s));
  EXPECT_EQ(told(h), "change, claim w (w), change w (w), change v (w), claim v (v)");
}

TEST(RowChanges, WithoutATokenMoreAttemptsAreAClaim) {
  HistoryBuilder h;
  h.schedules("k").by("w").add(leased(JobState::pending, "", 60s, 1)).at(30s);
  h.add(leased(JobState::leased, "", 90s, 1)).add(leased(JobState::leased, "", 90s, 2));
  EXPECT_EQ(told(h), "change, claim w (w), change w (w), claim w (w)");
}

TEST(RowChanges, WithoutEitherWhoTakesALeaseThatHasRunOutClaimsAndElseMeddles) {
  HistoryBuilder h;
  h.schedules("k").by("w").add(leased(JobState::pending, "", 60s)).at(30s).by("v");
  h.add(leased(JobState::leased, "", 70s)).at(71s).add(leased(JobState::leased, "", 131s));
  EXPECT_EQ(told(h), "change, claim w (w), change v (w), claim v (v)");
}

TEST(RowChanges, ACommitThatARecoveryFinishesIsTheDoingOfTheDead) {
  HistoryBuilder h;
  h.schedules("k").by("w");
  h.add(CommitUncertain{.key = "k", .live = JobState::pending, .cold = JobState::leased}).is_killed();
  h.by("v").add(leased(JobState::pending, "1", 60s));
  EXPECT_EQ(told(h), "change, claim w (w)");
}

TEST(RowChanges, ACommitOfTheDeadThatShowsForAMomentIsLeftOut) {
  HistoryBuilder h;
  h.schedules("k").by("w").add(leased(JobState::pending, "1", 60s, 1));
  h.add(CommitUncertain{.key = "k", .live = JobState::leased, .cold = JobState::delivered}).is_killed().by("v");
  HistoryBuilder finished = h;
  h.marks("k").add(leased(JobState::delivered, "1", 60s, 1));
  EXPECT_EQ(told(h), "change, claim w (w)");
  EXPECT_EQ(told(finished.marks("k").add(leased(JobState::delivered, "2", 120s, 2))),
            "change, claim w (w), recovery w, claim v (v)");
}

TEST(RowChanges, WhoSendsAfterItHasClaimedItselfWhatADeadOneHadBegunToClaim) {
  HistoryBuilder h;
  h.schedules("k").by("w");
  h.add(CommitUncertain{.key = "k", .live = JobState::pending, .cold = JobState::leased}).is_killed();
  h.by("v").add(leased(JobState::pending, "1", 60s));
  HistoryBuilder marks = h;
  EXPECT_EQ(told(h.requests(1, "k")), "change, claim v (v)");
  EXPECT_EQ(told(marks.by("x").requests(1, "k")), "change, claim w (w)");
}

TEST(RowChanges, AnUncertainCommitOfLongAgoExplainsNothing) {
  HistoryBuilder h;
  h.schedules("k").by("w");
  h.add(CommitUncertain{.key = "k", .live = JobState::pending, .cold = JobState::leased});
  h.add(leased(JobState::pending, "1", 60s)).changes("k", JobState::leased, JobState::pending);
  h.by("v").add(leased(JobState::pending, "2", 60s));
  EXPECT_EQ(told(h), "change, claim w (w), change w, claim v (v)");
}

}  // namespace
}  // namespace halfsent
