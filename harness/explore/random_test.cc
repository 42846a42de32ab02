#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "harness/explore/strategy.h"

namespace halfsent {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAreArray;
using testing::IsEmpty;
using testing::SizeIs;

// Stops of two workers, one of which is struck before the third where the plan has a fault.
History stops(bool struck) {
  History history{.scenario = "s", .seed = 1, .plan = {}, .events = {}};
  const auto add = [&](const std::string& actor, EventBody body) {
    history.events.push_back({.seq = history.events.size(), .actor = actor, .incarnation = 1, .body = std::move(body)});
  };
  for (const std::string actor : {"worker-1", "worker-2"}) add(actor, Started{});
  for (int i = 0; i < 8; ++i) {
    if (struck && i == 3) add("worker-1", FaultFired{.fault = 0, .text = "hold worker-1 at at:2 for 61s"});
    add(i % 2 == 0 ? "worker-1" : "worker-2", Stopped{.call = "at", .object = std::to_string(i)});
  }
  return history;
}

StrategyOptions options(std::uint64_t seed, int plans = 50) {
  return {.sweep = {.faults = {FaultKind::kill, FaultKind::hold, FaultKind::switch_}, .past_lease = 61s},
          .bounds = {.faults = 2, .switches = 1},
          .seed = seed,
          .plans = plans};
}

std::vector<std::string> first_plans(const StrategyOptions& options) {
  std::vector<std::string> texts;
  for (const SweepCell& cell : make_random(options)->first(stops(false)).cells)
    texts.push_back(to_string(cell.faults[0]));
  return texts;
}

TEST(Random, TheSeedFixesThePlans) {
  EXPECT_THAT(first_plans(options(7)), ElementsAreArray(first_plans(options(7))));
  EXPECT_NE(first_plans(options(7)), first_plans(options(8)));
}

TEST(Random, AUnitIsTheSameHoweverManyThereAre) {
  const std::vector<std::string> few = first_plans(options(7, 10));
  const std::vector<std::string> many = first_plans(options(7, 50));
  ASSERT_THAT(few, SizeIs(10));
  EXPECT_THAT(few, ElementsAreArray(many.begin(), many.begin() + 10));
}

TEST(Random, KindsWindowsAndDurationsVary) {
  const std::vector<std::string> plans = first_plans(options(7, 300));
  const std::set<std::string> different(plans.begin(), plans.end());
  EXPECT_GT(different.size(), 40u);
  EXPECT_TRUE(different.contains("hold worker-1 at at:2 for 61s"));
  EXPECT_TRUE(different.contains("switch worker-2 at at:5"));
}

TEST(Random, TheNextStepIsAfterTheLastFaultAndAddsOneWindow) {
  const auto strategy = make_random(options(7));
  const Plan plan = *parse_plan("scenario s; seed 1; hold worker-1 at at:2 for 61s");
  const History history = stops(true);
  int ended = 0;
  int went_on = 0;
  for (std::size_t unit = 0; unit < 200; ++unit) {
    const std::vector<SweepCell> next = strategy->below(
        {.unit = unit, .windows = 1, .plan = &plan, .history = &history, .left = {.faults = 1, .switches = 1}});
    if (next.empty()) {
      ++ended;
      continue;
    }
    ++went_on;
    ASSERT_THAT(next, SizeIs(1));
    ASSERT_THAT(next[0].faults, SizeIs(2));
    EXPECT_EQ(to_string(next[0].faults[0]), "hold worker-1 at at:2 for 61s");
    EXPECT_TRUE(next[0].faults[1].then);
    EXPECT_GE(next[0].faults[1].at->boundary, "at:3");
  }
  EXPECT_GT(ended, 20);
  EXPECT_GT(went_on, 80);
}

TEST(Random, AWalkEndsWhereTheBoundsDo) {
  const auto strategy = make_random(options(7));
  const Plan plan = *parse_plan("scenario s; seed 1; hold worker-1 at at:2 for 61s");
  const History history = stops(true);
  for (std::size_t unit = 0; unit < 50; ++unit)
    EXPECT_THAT(strategy->below({.unit = unit, .windows = 3, .plan = &plan, .history = &history, .left = {0, 0}}),
                IsEmpty());
}

}  // namespace
}  // namespace halfsent
