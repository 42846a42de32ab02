#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/contract/history_builder.h"
#include "reports/terminal.h"

namespace halfsent {
namespace {

using namespace std::chrono_literals;

std::string block_of(const History& history, const Objectives& objectives = {}) {
  ContractTerms terms;
  terms.objectives = objectives;
  return operations_block(watch(history, terms), objectives, Style{});
}

TEST(OperationsBlock, ShowsWhatAnOperatorWatchesAndTheMaxima) {
  HistoryBuilder h;
  h.schedules("k").schedules("m").schedules("n\n");
  h.at(1s).by("worker-1").claims("k").at(2s).is_killed();
  h.at(3s).by("worker-2").claims("m").delivers(1, "m").marks("m").claims("n\n").delivers(2, "n\n").marks("n\n");
  h.at(65s).claims("k", JobState::leased, 2).at(66s).delivers(3, "k").marks("k");
  EXPECT_EQ(block_of(h.finishes("drained"), {.longest_delay = 2min, .pending_target = 10s}),
            R"(operations    3 delivered, 0 flagged, 0 pending, 0 leased; 0 open past 10s, 1 at most
  attempts    2 for k, 1 for 2 jobs
  leases      1 expired, 0 taken early
  oldest      pending age 0.000 s in the end, 65.000 s at most
  delay       66.000 s at most (k, from 0.000 s to 66.000 s); allowed 2min
  block       63.000 s at most (k, of worker-1, from 2.000 s to 65.000 s)
)");
}

TEST(OperationsBlock, EscapesKeysAndSaysWhatIsNotOver) {
  HistoryBuilder h;
  h.schedules("a\x1b[31m").by("w").claims("a\x1b[31m").is_killed();
  const std::string text = block_of(h.at(30min).finishes("horizon"));
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_THAT(text, testing::HasSubstr("0 delivered, 0 flagged, 0 pending, 1 leased\n"));
  EXPECT_THAT(text, testing::HasSubstr("from 0.000 s and not over)\n"));
}

TEST(OperationsBlock, OfNothingSaysNone) {
  EXPECT_THAT(block_of(HistoryBuilder().finishes("drained")), testing::HasSubstr("  delay       none\n"));
}

}  // namespace
}  // namespace halfsent
