#include "harness/explore/strategy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace halfsent {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

// Three stops of worker-1, with a fault between the first and the second when the plan has one.
History stops(bool struck) {
  History history{.scenario = "s", .seed = 1, .plan = {}, .events = {}};
  const auto add = [&](EventBody body) {
    history.events.push_back(
        {.seq = history.events.size(), .actor = "worker-1", .incarnation = 1, .body = std::move(body)});
  };
  add(Started{});
  add(Stopped{.call = "at", .object = "one"});
  if (struck) add(FaultFired{.fault = 0, .text = "hold worker-1 at at:one for 61s"});
  add(Stopped{.call = "at", .object = "two"});
  add(Stopped{.call = "at", .object = "three"});
  return history;
}

Plan plan_with(std::string_view faults) { return *parse_plan("scenario s; seed 1; " + std::string(faults)); }

std::vector<std::string> plans(const History& history, const Plan& plan, const Bounds& bounds,
                               std::vector<FaultKind> faults = {FaultKind::kill}) {
  std::vector<std::string> texts;
  for (const SweepCell& cell : children(history, plan, {.faults = std::move(faults), .past_lease = 61s}, bounds)) {
    std::string text;
    for (const Fault& fault : cell.faults) text += (text.empty() ? "" : "; ") + to_string(fault);
    texts.push_back(text);
  }
  return texts;
}

TEST(Exhaustive, TheFirstFaultsAreThoseOfTheSweep) {
  EXPECT_THAT(plans(stops(false), {.scenario = "s", .seed = 1, .faults = {}}, {.faults = 1}),
              ElementsAre("kill worker-1 at at:one", "kill worker-1 at at:two", "kill worker-1 at at:three"));
}

TEST(Exhaustive, TheNextFaultComesAfterTheLastInItsParentsHistory) {
  const Plan parent = plan_with("hold worker-1 at at:one for 61s");
  EXPECT_THAT(plans(stops(true), parent, {.faults = 1}),
              ElementsAre("hold worker-1 at at:one for 61s; then kill worker-1 at at:two",
                          "hold worker-1 at at:one for 61s; then kill worker-1 at at:three"));
  EXPECT_THAT(plans(stops(true), parent, {.faults = 0}), IsEmpty());
}

TEST(Exhaustive, AFaultThatNeverFiredHasNoChildren) {
  EXPECT_THAT(plans(stops(false), plan_with("hold worker-1 at at:four for 61s"), {.faults = 1}), IsEmpty());
}

TEST(Exhaustive, PreemptionsHaveABoundOfTheirOwn) {
  const SweepCell kill{.boundary = {}, .column = "kill", .faults = plan_with("kill worker-1 at at:two").faults};
  const SweepCell preempt{.boundary = {}, .column = "switch", .faults = plan_with("switch worker-1 at at:two").faults};
  EXPECT_EQ(after(kill, {.faults = 2, .switches = 1}), (Bounds{.faults = 1, .switches = 1}));
  EXPECT_EQ(after(preempt, {.faults = 2, .switches = 1}), (Bounds{.faults = 2, .switches = 0}));
}

}  // namespace
}  // namespace halfsent
