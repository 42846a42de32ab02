#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/contract/history_builder.h"
#include "reports/terminal.h"

namespace halfsent {
namespace {

using namespace std::chrono_literals;

Boundary named(Seq seq, std::string name, int occurrence = 1) {
  return {.seq = seq, .name = std::move(name), .key = "k", .actor = "worker-1", .occurrence = occurrence};
}

TEST(WindowsTable, EachStepIsOneRowWithWhatItWasAndAllItsNames) {
  HistoryBuilder h;
  h.by("").schedules("k").at(100us).by("worker-1").starts();
  h.stops("pwrite64", "ledger.db-wal", "offset 4096", 4120).claims("k");
  h.at(1'000'200us).by("worker-1", 2, 1).requests(1, "k").accepts(1, "k").responds(1, "k");
  h.add(LedgerChanged{.key = "k", .from = JobState::leased, .to = JobState::flagged, .raw_state = "needs_review"});
  h.ends(Ended::How::exited, 3);
  const std::vector<Boundary> boundaries = {named(2, "after_claim"), named(2, "before_mark", 2),
                                            named(4, "before_accept"), named(5, "after_accept")};
  EXPECT_EQ(windows_table(h.finishes("drained"), boundaries, Style{.colour = false, .width = 120}),
            R"(time      actor         process  step                                                   names
0.000000                         k none -> pending
0.000100  worker-1      0        starts
0.000100  worker-1      0        pwrite64 ledger.db-wal (offset 4096), 4120 bytes       after_claim k, before_mark k #2
0.000100  worker-1      0        k pending -> leased (attempt 1, lease until 60.000 s)
1.000200  worker-1 (2)  1        request 1: POST /send (key k)                          before_accept k
1.000200  worker-1 (2)  1        accept of request 1                                    after_accept k
1.000200  worker-1 (2)  1        answer to request 1: 200
1.000200  worker-1 (2)  1        k leased -> flagged (needs_review)
1.000200  worker-1 (2)  1        exits with code 3
1.000200                         end of the execution: drained
)");
}

TEST(WindowsTable, WhatIsUncertainIsSaid) {
  HistoryBuilder h;
  h.by("w").add(CommitUncertain{.key = "k", .live = JobState::pending, .cold = JobState::leased});
  h.add(Requested{.request = 2, .key = {}, .method = "PUT", .path = "/x", .body_digest = {}, .attempt = 2});
  h.responds(2, "", 0, "lost").waits("poll", 3s).notes("wrote outside");
  const std::string text = windows_table(h.cut_off(), {}, Style{.colour = false, .width = 0});
  EXPECT_THAT(text, testing::HasSubstr("k is pending; after a crash with nobody connected it would be leased\n"));
  EXPECT_THAT(text, testing::HasSubstr("request 2: PUT /x (no key, attempt 2)\n"));
  EXPECT_THAT(text, testing::HasSubstr("answer to request 2: lost\n"));
  EXPECT_THAT(text, testing::HasSubstr("wrote outside\n"));
  EXPECT_THAT(text, testing::Not(testing::HasSubstr("poll")));
}

TEST(WindowsTable, ABoundaryOfAnotherHistoryNamesNothing) {
  const Boundary stray = named(9, "after_claim");
  EXPECT_EQ(windows_table(History{}, std::span(&stray, 1), Style{}), "time  actor  process  step  names\n");
}

}  // namespace
}  // namespace halfsent
