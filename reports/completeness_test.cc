#include "reports/completeness.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace halfsent {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Completeness, WhatWasRunAndWhatWasLeftOutIsCounted) {
  EXPECT_EQ(completeness_statement({.strategy = "exhaustive",
                                    .bounds = {.faults = 2, .switches = 1},
                                    .faults = {"kill", "drop"},
                                    .plans = {{0, 1}, {1, 60}, {2, 1800}},
                                    .executions = 2000,
                                    .childless = 1,
                                    .idle_left_out = 20,
                                    .units = 60,
                                    .units_done = 60}),
            R"(exhaustive    every plan of up to 2 faults (kill, drop) and 1 preemption, each after the last
  run         1 with no fault, 60 with 1 fault, 1800 with 2 faults; 2000 executions with confirmations
  left out    what is below 1 plan that did not hold; idle stops after the first of their kind (20 without faults)
  merged      none, pruned none
  not reached none
  not run     none
)");
}

TEST(Completeness, ASweepHasNoPlansBelow) {
  EXPECT_EQ(completeness_statement({.faults = {"kill"},
                                    .plans = {{0, 1}, {1, 60}},
                                    .regressions = 2,
                                    .executions = 70,
                                    .idle_left_out = 20,
                                    .not_reached = 1,
                                    .units = 60,
                                    .units_done = 60}),
            R"(sweep         every window x every fault that applies to it (kill)
  run         1 with no fault, 60 with 1 fault, 2 regression plans; 70 executions with confirmations
  left out    idle stops after the first of their kind (20 without faults)
  merged      none, pruned none
  not reached 1 plan
  not run     none
)");
}

TEST(Completeness, WhatAnInterruptionOrACapLeftIsNoPass) {
  EXPECT_THAT(completeness_statement({.strategy = "exhaustive", .units = 20, .units_done = 8}),
              HasSubstr("not run     12 first plans and what is below\n"));
  EXPECT_THAT(completeness_statement({.units = 20, .units_done = 8, .capped = "60 s"}),
              HasSubstr("not run     12 first plans; the cap of 60 s was hit\n"));
}

TEST(Completeness, AShardSaysWhichItIsAndWhoSaidSo) {
  EXPECT_THAT(completeness_statement({.units = 15, .shard = {2, 4, "--shard"}}),
              HasSubstr("shard       2 of 4 (--shard): 15 first plans of its own\n"));
  EXPECT_THAT(completeness_statement({.units = 15}), Not(HasSubstr("shard")));
}

TEST(Completeness, RandomPlansNameTheirSeed) {
  EXPECT_THAT(
      completeness_statement({.strategy = "random", .bounds = {2, 1}, .seed = 7, .faults = {"kill", "drop"}}),
      HasSubstr("random        walks of up to 2 faults (kill, drop) and 1 preemption, each fault after the last, "
                "drawn with seed 7\n"));
}

}  // namespace
}  // namespace halfsent
