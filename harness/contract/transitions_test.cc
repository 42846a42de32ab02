#include "harness/contract/testing.h"

namespace halfsent {
namespace {

TEST(Transitions, TheLifeOfAJobHolds) {
  HistoryBuilder h;
  h.schedules("k").by("w").claims("k").claims("k", JobState::leased).changes("k", JobState::leased, JobState::pending);
  h.claims("k", JobState::pending, 2).changes("k", JobState::leased, JobState::flagged, "needs_review");
  h.by("operator-1").changes("k", JobState::flagged, JobState::pending).by("w").claims("k", JobState::pending, 3);
  h.delivers(1, "k").marks("k").by("operator-1").changes("k", JobState::delivered, JobState::none);
  EXPECT_EQ(told(ask_run(judge_transitions, h.cut_off())), "");
}

TEST(Transitions, ADeliveryThatIsTakenBackIsTold) {
  HistoryBuilder h;
  h.schedules("k").by("w").claims("k").marks("k").at(3s).by("v");
  h.changes("k", JobState::delivered, JobState::pending);
  EXPECT_EQ(told(ask_run(judge_transitions, h.cut_off())),
            "k: put back to pending by v at 3.000 s (from delivered to pending): it was delivered, and that is final");
}

TEST(Transitions, NoneOfTheseIsLegal) {
  const std::pair<JobState, JobState> illegal[] = {
      {JobState::none, JobState::delivered},   {JobState::pending, JobState::delivered},
      {JobState::pending, JobState::none},     {JobState::leased, JobState::none},
      {JobState::delivered, JobState::leased}, {JobState::delivered, JobState::flagged},
      {JobState::flagged, JobState::leased}};
  for (const auto& [from, to] : illegal) {
    HistoryBuilder h;
    h.schedules("other").by("v").claims("other").by("").changes("k", JobState::none, from);
    h.by("w").changes("k", from, to);
    if (to == JobState::none) h.schedules("k");  // removed for good it is a matter of the job
    EXPECT_EQ(ask_run(judge_transitions, h.cut_off()).broken.size(), 1u) << to_string(from) << to_string(to);
  }
}

TEST(Transitions, ASystemThatClaimsNothingMarksWhatIsPending) {
  HistoryBuilder h;
  h.schedules("k").by("w").delivers(1, "k").marks("k", JobState::pending);
  EXPECT_EQ(told(ask_run(judge_transitions, h.cut_off())), "");
}

TEST(Transitions, ALeasedRowMayGoOnceItsHolderHasSentIt) {
  HistoryBuilder h;
  h.schedules("k").by("w").claims("k").delivers(1, "k").changes("k", JobState::leased, JobState::none);
  EXPECT_EQ(told(ask_run(judge_transitions, h.cut_off())), "");
}

TEST(Transitions, AFlaggedJobIsMarkedByAnOperatorOnly) {
  HistoryBuilder h;
  h.schedules("k").by("w").claims("k").by("v").changes("k", JobState::leased, JobState::flagged, "needs_review");
  HistoryBuilder late = h;
  h.by("operator-1").marks("k", JobState::flagged);
  EXPECT_EQ(told(ask_run(judge_transitions, h.cut_off())), "");
  late.by("w").marks("k", JobState::flagged);
  EXPECT_THAT(told(ask_run(judge_transitions, late.cut_off())), testing::HasSubstr("a worker is no operator"));
}

TEST(Transitions, AnUnlistedStateOnTheWayAndWhatTheWorldDoesAreNotJudged) {
  HistoryBuilder h;
  h.schedules("k").by("w").changes("k", JobState::pending, JobState::unlisted, "sending");
  h.changes("k", JobState::unlisted, JobState::delivered);
  h.by("").changes("k", JobState::delivered, JobState::pending);
  EXPECT_EQ(told(ask_run(judge_transitions, h.cut_off())), "");
}

}  // namespace
}  // namespace halfsent
