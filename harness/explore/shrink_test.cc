#include "harness/explore/shrink.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace halfsent {
namespace {

using testing::Contains;
using testing::Not;

Plan plan_with(std::string_view faults) { return *parse_plan("scenario s; seed 1; " + std::string(faults)); }

bool holds_worker_2(const Plan& plan) {
  return std::any_of(plan.faults.begin(), plan.faults.end(), [](const Fault& fault) {
    return fault.kind == FaultKind::hold && fault.target == "worker-2" && fault.duration > std::chrono::seconds{30};
  });
}

TEST(Shrink, WhatIsNotNeededGoes) {
  const Plan plan = plan_with(
      "kill worker-1 child at after_claim; then drop downstream at after_accept K; "
      "then hold worker-2 at before_mark K for 244s; then switch worker-1 at before_claim");
  int runs = 0;
  const Shrunk shrunk = shrink(plan, [&](const Plan& smaller) {
    ++runs;
    return holds_worker_2(smaller) ? Tried::same : Tried::other;
  });
  EXPECT_EQ(to_string(shrunk.plan), "scenario s; seed 1; hold worker-2 at before_mark K for 61s");
  EXPECT_TRUE(shrunk.minimal);
  EXPECT_EQ(shrunk.tried, runs);
}

TEST(Shrink, WhatIsNeededStays) {
  const Plan plan = plan_with("kill worker-1 at after_claim; then drop downstream at after_accept K");
  const Shrunk shrunk = shrink(plan, [](const Plan& smaller) {
    return smaller.faults.size() == 2 && smaller.faults[1].then ? Tried::same : Tried::other;
  });
  EXPECT_EQ(shrunk.plan, plan);
  EXPECT_TRUE(shrunk.minimal);
}

TEST(Shrink, WhenTheTimeIsUpTheBestSoFarIsGiven) {
  const Plan plan = plan_with("hold worker-2 at before_mark K for 61s; then hold worker-2 at before_mark for 61s");
  int runs = 0;
  const Shrunk shrunk = shrink(plan, [&](const Plan&) { return ++runs > 1 ? Tried::stop : Tried::same; });
  EXPECT_EQ(shrunk.plan.faults.size(), 1u);
  EXPECT_FALSE(shrunk.minimal);
  EXPECT_EQ(shrunk.tried, 1);
}

TEST(Shrink, NoPlanIsEmptyAndNoneBeginsWithThen) {
  for (const Plan& plan : smaller_plans(plan_with("kill worker-1 at after_claim; then kill worker-1 at before_send"))) {
    ASSERT_FALSE(plan.faults.empty());
    EXPECT_FALSE(plan.faults.front().then);
    EXPECT_TRUE(parse_plan(to_string(plan)));
  }
}

TEST(Shrink, ADurationIsHalvedDownToASecond) {
  const auto texts = [](std::string_view faults) {
    std::vector<std::string> firsts;
    for (const Plan& plan : smaller_plans(plan_with(faults))) firsts.push_back(to_string(plan.faults[0]));
    return firsts;
  };
  EXPECT_THAT(texts("skew worker-1 -61s"), Contains("skew worker-1 -30s"));
  EXPECT_THAT(texts("hold worker-1 at before_mark for 1500ms"), Not(Contains(testing::HasSubstr("for"))));
}

}  // namespace
}  // namespace halfsent
