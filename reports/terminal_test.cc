#include "reports/terminal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/contract/history_builder.h"

namespace halfsent {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

Plan kill_plan(std::string key = "4187:2026-W33") {
  Plan plan{.scenario = "polling", .seed = 7, .faults = {}};
  Fault fault{.kind = FaultKind::kill, .target = "worker-1"};
  fault.at = Anchor{.boundary = "after_accept", .key = std::move(key), .occurrence = 1};
  plan.faults.push_back(std::move(fault));
  return plan;
}

KeyVerdict key_verdict(std::string key, VerdictKind kind, std::string why = "because") {
  return {.key = std::move(key), .kind = kind, .why = std::move(why), .evidence = {}, .indeterminate = false};
}

TEST(VerdictBlock, AViolationIsToldWithItsPlanAndItsReplay) {
  Verdict verdict;
  verdict.keys = {
      key_verdict("4187:2026-W33", VerdictKind::duplicate, "accepted twice: from worker-1 and from worker-2"),
      key_verdict("4188:2026-W33", VerdictKind::once)};
  verdict.notes = {"not repeatable: wrote outside the world"};
  EXPECT_EQ(verdict_block(verdict, kill_plan(), Style{}),
            R"(DUPLICATE     4187:2026-W33
  why         accepted twice: from worker-1 and from worker-2
note          not repeatable: wrote outside the world
plan          scenario polling; seed 7; kill worker-1 at after_accept 4187:2026-W33
replay        halfsent replay 'scenario polling; seed 7; kill worker-1 at after_accept 4187:2026-W33'
)");
}

TEST(VerdictBlock, WithoutAViolationWhatIsMissingComesAfterTheCounts) {
  Verdict verdict;
  verdict.keys = {key_verdict("k", VerdictKind::once)};
  verdict.accepted = 1;
  verdict.faults_planned = 1;
  verdict.not_reached = {"kill worker-1 at after_accept k"};
  verdict.inconclusive = {"worker-1 exited with code 1"};
  EXPECT_EQ(verdict_block(verdict, kill_plan("k"), Style{}),
            R"(not earned: 1 job once, 0 flagged; 1 effect, 0 repeats recognised; 0 of 1 fault fired
INCONCLUSIVE  worker-1 exited with code 1
NOT REACHED   kill worker-1 at after_accept k
plan          scenario polling; seed 7; kill worker-1 at after_accept k
replay        halfsent replay 'scenario polling; seed 7; kill worker-1 at after_accept k'
)");
}

TEST(VerdictBlock, WhatBreaksARuleOfTheRunAndWhatWasJudgedAreTold) {
  Verdict verdict;
  verdict.keys = {key_verdict("k", VerdictKind::once)};
  verdict.broken = {{.invariant = "stale_holder", .key = "k", .why = "worker-1 marked it", .evidence = {3}},
                    {.invariant = "drains", .why = "late is pending", .evidence = {4}}};
  verdict.judged = {"duplicate", "stale_holder", "drains"};
  verdict.not_judged = {{"attempts", "rows show no attempts"}, {"lost", "turned off"}};
  EXPECT_EQ(verdict_block(verdict, kill_plan("k"), Style{}),
            R"(BROKEN        stale_holder, k
  why         worker-1 marked it
BROKEN        drains
  why         late is pending
judged        3 invariants; not attempts (rows show no attempts), lost (turned off)
plan          scenario polling; seed 7; kill worker-1 at after_accept k
replay        halfsent replay 'scenario polling; seed 7; kill worker-1 at after_accept k'
)");
}

TEST(VerdictBlock, ManyViolationsAreCountedNotListed) {
  Verdict verdict;
  for (char c = 'a'; c < 'a' + 12; ++c) verdict.keys.push_back(key_verdict(std::string(1, c), VerdictKind::lost));
  const std::string text = verdict_block(verdict, kill_plan(), Style{});
  EXPECT_THAT(text, HasSubstr("LOST          h\n"));
  EXPECT_THAT(text, testing::Not(HasSubstr("LOST          i\n")));
  EXPECT_THAT(text, HasSubstr("and 4 more jobs"));
}

TEST(ReplayLine, AKeyWithQuotesSurvivesTheShell) {
  EXPECT_EQ(replay_line(kill_plan("it's \"k\"")),
            "halfsent replay 'scenario polling; seed 7; kill worker-1 at after_accept \"it'\\''s \\\"k\\\"\"'\n");
}

TEST(ReplayLine, TheQuotedPlanIsThePlan) {
  const Plan plan = kill_plan("\x1b'\xff\xe2\x80\xae\n\\");
  std::string line = replay_line(plan);
  for (const char c : line.substr(0, line.size() - 1)) EXPECT_TRUE(c >= 0x20 && c < 0x7f) << static_cast<int>(c);
  // What a shell makes of it: the content of the quotes, '\'' being a quote.
  line = line.substr(line.find('\'') + 1);
  line = line.substr(0, line.rfind('\''));
  for (std::size_t at; (at = line.find("'\\''")) != std::string::npos;) line.replace(at, 4, "\x01");
  std::replace(line.begin(), line.end(), '\x01', '\'');
  const auto parsed = parse_plan(line);
  ASSERT_TRUE(parsed.has_value()) << parsed.error().to_string();
  EXPECT_EQ(*parsed, plan);
}

TEST(EarnedLine, APassShowsWhatItRestsOn) {
  Verdict verdict;
  verdict.keys = {key_verdict("a", VerdictKind::once), key_verdict("b", VerdictKind::once),
                  key_verdict("c", VerdictKind::flagged)};
  verdict.accepted = 2;
  verdict.deduplicated = 1;
  verdict.faults_planned = 1;
  verdict.faults_fired = 1;
  verdict.last_terminal = 60'013ms;
  EXPECT_EQ(earned_line(verdict, Style{}),
            "held: 2 jobs once, 1 flagged; 2 effects, 1 repeat recognised; 1 of 1 fault fired; settled at 60.013 s\n");
}

TEST(EarnedLine, AVerdictOnNoJobIsNotEarned) {
  EXPECT_THAT(earned_line(Verdict{}, Style{}), testing::StartsWith("not earned: "));
  EXPECT_THAT(earned_line(Verdict{}, Style{}), testing::EndsWith("; no job was judged\n"));
}

TEST(EarnedLine, AViolationIsNeverHeld) {
  Verdict verdict;
  verdict.keys = {key_verdict("a", VerdictKind::stuck)};
  EXPECT_THAT(earned_line(verdict, Style{}), testing::StartsWith("violated: "));
}

TEST(WorkerOutput, OnlyTheLastLinesAreShownAndNoneIsRaw) {
  EXPECT_EQ(worker_output("w", 1, "one\ntwo\nthr\x1b[2Jee", 2, Style{}),
            "output of w (incarnation 1):\n  (1 line earlier)\n  two\n  thr\\x1b[2Jee\n");
  EXPECT_EQ(worker_output("w", 2, "", 2, Style{}), "output of w (incarnation 2): none\n");
}

TEST(Escaping, NoReportLetsForeignBytesThrough) {
  const std::string evil = "e\x1b[31m\x9b\xff\r\n\xe2\x80\xae";
  Verdict verdict;
  verdict.keys = {key_verdict(evil, VerdictKind::lost, evil)};
  verdict.notes = verdict.inconclusive = verdict.not_reached = {evil};
  verdict.broken = {{.invariant = "drains", .key = evil, .why = evil, .evidence = {0}}};
  verdict.judged = {"drains"};
  verdict.not_judged = {{"lost", evil}};
  HistoryBuilder h;
  h.by(evil)
      .stops(evil, evil, evil)
      .add(Requested{.request = 1, .key = evil, .method = evil, .path = evil, .body_digest = evil});
  std::vector<Boundary> boundaries = {
      {.seq = 0, .name = "at:" + evil, .key = evil, .actor = evil, .occurrence = 1, .lock_held = false},
      {.seq = 1, .name = "before_accept", .key = evil, .actor = evil, .occurrence = 1, .lock_held = false}};
  SweepSummary summary;
  summary.columns = {"kill"};
  summary.cells = {{.boundary = boundaries[0], .column = "kill", .outcome = CellOutcome::lost}};
  const Style wide{.colour = false, .width = 0};
  for (const std::string& text :
       {verdict_block(verdict, kill_plan(evil), wide), windows_table(h.cut_off(), boundaries, wide),
        worker_output(evil, 1, evil, 9, wide), sweep_summary(summary, wide)}) {
    for (const char c : text)
      EXPECT_TRUE(c == '\n' || (c >= 0x20 && c < 0x7f)) << static_cast<int>(c) << " in " << text;
  }
}

}  // namespace
}  // namespace halfsent
