#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/contract/history_builder.h"
#include "reports/terminal.h"

namespace halfsent {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;

KeyVerdict violated(std::string key, VerdictKind kind, std::vector<Seq> evidence) {
  return {.key = std::move(key), .kind = kind, .why = "why", .evidence = std::move(evidence), .indeterminate = false};
}
Verdict verdict_of(KeyVerdict key) {
  Verdict verdict;
  verdict.keys.push_back(std::move(key));
  return verdict;
}
const Style plain{.colour = false, .width = 140};

TEST(Story, AKillAfterTheAcceptIsToldFromTheClaimToTheSecondEffect) {
  HistoryBuilder h;
  h.schedules("4187:2026-W33").by("worker-1").starts().by("worker-2").starts();
  h.at(2ms).by("worker-1").stops("fcntl", "ledger.db-shm").claims("4187:2026-W33").stops("connect", "downstream");
  h.at(3ms).requests(1, "", "4187:2026-W33").at(4ms).accepts(1, "");
  h.fires(0, "kill worker-1 at after_accept 4187:2026-W33").is_killed().by("worker-1", 2).starts();
  for (int i = 1; i <= 60; ++i)
    h.at(1s * i).by("worker-2").stops("fcntl", "ledger.db-shm").waits("sleep", 1s * (i + 1));
  h.at(60'010ms).claims("4187:2026-W33", JobState::leased, 2).at(60'012ms).requests(2, "", "4187:2026-W33");
  h.at(60'013ms).accepts(2, "").responds(2, "").at(60'014ms).marks("4187:2026-W33");
  const History history = h.at(30min).finishes("horizon");
  const Verdict verdict = verdict_of(violated("4187:2026-W33", VerdictKind::duplicate, {7, 133}));
  EXPECT_EQ(story(history, verdict, plain),
            R"(     0.000 s  ledger              4187:2026-W33 is pending
     0.000 s  worker-1, worker-2  starts
     0.002 s  worker-1            claims 4187:2026-W33 (attempt 1, lease until 60.002 s)
     0.003 s  worker-1            sends request 1 for 4187:2026-W33 without a key
>    0.004 s  downstream          accepts request 1 from worker-1
     0.004 s  FAULT               kill worker-1 at after_accept 4187:2026-W33
     0.004 s  worker-1            is killed; the ledger says leased
     0.004 s  worker-1 (2)        starts again as incarnation 2
              ... 59.998 s pass (60 waits)
    60.002 s  ledger              the lease of worker-1 on 4187:2026-W33 runs out
    60.010 s  worker-2            claims 4187:2026-W33 from worker-1, whose lease has run out )"
            R"((attempt 2, lease until 120.010 s)
    60.012 s  worker-2            sends request 2 for 4187:2026-W33 without a key
>   60.013 s  downstream          accepts request 2 from worker-2: effect 2
    60.014 s  worker-2            marks 4187:2026-W33 delivered
              ... 1739.986 s pass
  1800.000 s  end                 horizon
)");
}

TEST(Story, AStaleHolderIsToldWithItsHoldAndWhoClaimedSince) {
  HistoryBuilder h;
  h.schedules("k").at(1ms).by("a").claims("k").fires(0, "hold a at after_claim k for 61s");
  h.at(60'100ms).by("b").claims("k", JobState::leased, 2).at(61s).by("a").add(Released{}).marks("k");
  const std::string text = story(h.finishes("drained"), verdict_of(violated("k", VerdictKind::phantom, {5})), plain);
  EXPECT_THAT(text, HasSubstr("a       runs again after 60.999 s\n"));
  EXPECT_THAT(text, HasSubstr("> 61.000 s  a       marks k delivered, which b has claimed since\n"));
}

TEST(Story, ARobbedLeaseIsShouted) {
  HistoryBuilder h;
  h.schedules("k").at(1ms).by("a").claims("k").at(2ms).by("b").claims("k", JobState::leased, 2);
  EXPECT_THAT(story(h.finishes("drained"), verdict_of(violated("k", VerdictKind::stuck, {})), plain),
              HasSubstr("claims k from a, WHOSE LEASE RUNS UNTIL 60.001 s (attempt 2"));
}

TEST(Story, ARenewalIsNoClaim) {
  HistoryBuilder h;
  h.schedules("k").at(1ms).by("a").claims("k").at(30s).claims("k", JobState::leased, 1);
  const std::string text = story(h.at(61s).finishes("horizon"), Verdict{}, plain);
  EXPECT_THAT(text, HasSubstr("renews its lease on k: lease until 90.000 s"));
  EXPECT_THAT(text, Not(HasSubstr("runs out")));
}

TEST(Story, AnOrphanIsToldAsOneOnceAndTheGoodEndsOfOtherChildrenAreNot) {
  HistoryBuilder h;
  h.schedules("k").by("a").starts().by("a", 1, 1).claims("k").ends(Ended::How::exited);
  h.at(1ms).by("a", 1, 2).stops("sendto", "downstream").by("a").fires(0, "kill a root at before_send k").is_killed();
  h.at(2ms).by("a", 2).starts().by("a", 1, 2).requests(1, "k").accepts(1, "k").ends(Ended::How::exited, 23);
  h.at(3ms).by("a", 2, 1).ends(Ended::How::exited, 4).by("a", 1, 3).ends(Ended::How::exited);
  EXPECT_EQ(story(h.finishes("drained"), Verdict{}, plain),
            R"(  0.000 s  ledger      k is pending
  0.000 s  a           starts
  0.000 s  a/1         claims k (attempt 1, lease until 60.000 s)
  0.001 s  FAULT       kill a root at before_send k
  0.001 s  a           is killed
  0.002 s  a (2)       starts again as incarnation 2
  0.002 s  a/2         now an orphan, sends request 1 with key k
  0.002 s  downstream  accepts request 1 from a
  0.002 s  a/2         exits with code 23
  0.003 s  a (2)/1     exits with code 4
  0.003 s  a/3         now an orphan, exits
  0.003 s  end         drained
)");
}

TEST(Story, OnlyTheViolatedJobIsToldUnlessAnotherIsAskedFor) {
  HistoryBuilder h;
  h.schedules("j").schedules("k").by("a").claims("j").delivers(1, "j").marks("j").claims("k");
  const Verdict verdict = verdict_of(violated("k", VerdictKind::stuck, {}));
  const History history = h.finishes("horizon");
  EXPECT_THAT(story(history, verdict, plain), Not(HasSubstr("j")));
  EXPECT_THAT(story(history, verdict, plain, "j"), HasSubstr("sends request 1 with key j"));
  EXPECT_THAT(story(history, verdict, plain, "j"), Not(HasSubstr("claims k")));
}

TEST(Story, ARequestUnderAForeignKeyIsToldSinceItMayBeTheJobs) {
  HistoryBuilder h;
  h.schedules("k").by("a").claims("k").delivers(1, "uuid-1");
  EXPECT_THAT(story(h.finishes("horizon"), verdict_of(violated("k", VerdictKind::stuck, {})), plain),
              HasSubstr("sends request 1 with key uuid-1"));
}

TEST(Story, WhatTheDownstreamDidAboutTheAnswerIsToldWhenItIsUnusual) {
  HistoryBuilder h;
  h.schedules("k").by("a").requests(1, "k").accepts(1, "k").responds(1, "k", 0, "drop");
  h.requests(2, "k").accepts(2, "k", true).responds(2, "k", 200).requests(3, "k").responds(3, "k", 503);
  const std::string text = story(h.finishes("drained"), Verdict{}, plain);
  EXPECT_THAT(text, HasSubstr("gives no answer to request 1 (drop)"));
  EXPECT_THAT(text, HasSubstr("recognises request 2 from a: no new effect"));
  EXPECT_THAT(text, Not(HasSubstr("answers request 2")));
  EXPECT_THAT(text, HasSubstr("answers request 3 with 503"));
}

TEST(Story, AnUncertainCommitIsToldOnlyWhereAFaultMeetsIt) {
  const CommitUncertain uncertain{.key = "k", .live = JobState::leased, .cold = JobState::delivered};
  HistoryBuilder h;
  h.schedules("k").by("a").add(uncertain).stops("fsync", "ledger.db").fires(0, "kill a");
  EXPECT_THAT(story(h.cut_off(), Verdict{}, plain), Not(HasSubstr("uncertain")));
  h.add(uncertain).fires(1, "kill a");
  EXPECT_THAT(story(h.cut_off(), Verdict{}, plain),
              HasSubstr("those connected read k as leased, after a crash of all it is delivered"));
}

std::size_t occurrences(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(Story, WhatHappensOnceIsToldOnce) {
  HistoryBuilder h;
  h.schedules("k").by("a").claims("k").add(
      CommitUncertain{.key = "k", .live = JobState::leased, .cold = JobState::pending});
  h.fires(0, "hold a").fires(1, "kill b").at(61s).add(Released{}).at(62s).add(Released{});
  const std::string text = story(h.finishes("horizon"), Verdict{}, plain);
  EXPECT_EQ(occurrences(text, "uncertain"), 1u);
  EXPECT_EQ(occurrences(text, "the lease of a on k runs out"), 1u);
}

TEST(Story, ALongStoryLosesItsMiddleAndSaysSo) {
  HistoryBuilder h;
  for (std::uint64_t i = 1; i <= 200; ++i) h.by("a").requests(i, "k");
  const std::string text = story(h.finishes("horizon"), Verdict{}, plain);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 49);
  EXPECT_THAT(text, HasSubstr("(153 lines left out)"));
  EXPECT_THAT(text, HasSubstr("sends request 200"));
}

TEST(Story, LinesAreCutToTheWidth) {
  HistoryBuilder h;
  h.schedules(std::string(200, 'k'));
  EXPECT_EQ(story(h.cut_off(), Verdict{}, Style{.colour = false, .width = 30}), "  0.000 s  ledger  kkkkkkkkkk…\n");
}

TEST(Story, NothingFromOutsideReachesTheTerminalRaw) {
  const std::string evil = "k\x1b]0;x\x07\x9b\xff\r\n\xe2\x80\xae";
  HistoryBuilder h;
  h.schedules(evil).by(evil).starts().claims(evil).requests(1, evil, evil).accepts(1, evil).responds(1, evil, 0, evil);
  h.changes(evil, JobState::leased, JobState::unlisted, evil).notes(evil).fires(0, evil);
  h.add(CommitUncertain{.key = evil, .live = JobState::leased, .cold = JobState::none}).fires(1, evil).is_killed();
  const std::string text = story(h.finishes(evil, evil), Verdict{}, Style{.colour = false, .width = 0});
  for (const char c : text) EXPECT_TRUE(c == '\n' || (c >= 0x20 && c < 0x7f)) << static_cast<int>(c);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 13);
}

TEST(Story, AnEmptyHistoryIsSaid) { EXPECT_EQ(story(History{}, Verdict{}, plain), "nothing happened\n"); }

}  // namespace
}  // namespace halfsent
