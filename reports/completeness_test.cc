#include "reports/completeness.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace halfsent {
namespace {

TEST(Completeness, WhatWasRunAndWhatWasLeftOutIsCounted) {
  EXPECT_EQ(completeness_statement({.bounds = {.faults = 2, .switches = 1},
                                    .faults = {"kill", "drop"},
                                    .plans = {{0, 1}, {1, 60}, {2, 1800}},
                                    .executions = 2000,
                                    .childless = 1,
                                    .idle_left_out = 20}),
            R"(exhaustive    every plan of up to 2 faults (kill, drop) and 1 preemption, each after the last
  run         1 with no fault, 60 with 1 fault, 1800 with 2 faults; 2000 executions with parents and confirmations
  left out    what is below 1 plan that did not hold; idle stops after the first of their kind (20 without faults)
  merged      none, pruned none
  not run     none
)");
}

TEST(Completeness, WhatAnInterruptionLeftIsNoPass) {
  EXPECT_THAT(completeness_statement({.bounds = {}, .faults = {}, .plans = {}, .not_run = 12}),
              testing::HasSubstr("not run     12 plans and what is below\n"));
}

}  // namespace
}  // namespace halfsent
