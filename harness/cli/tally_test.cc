#include "harness/cli/tally.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace halfsent {
namespace {

using testing::SizeIs;

constexpr const char* clean_digest = "d";

// Five stops of one worker: a sweep of kills has five units.
History stops() {
  History history{.scenario = "s", .seed = 1, .plan = {}, .events = {}};
  history.events.push_back({.seq = 0, .actor = "worker-1", .incarnation = 1, .body = Started{}});
  for (int i = 0; i < 5; ++i)
    history.events.push_back({.seq = history.events.size(),
                              .actor = "worker-1",
                              .incarnation = 1,
                              .body = Stopped{.call = "at", .object = std::to_string(i)}});
  return history;
}

Verdict held() { return {.keys = {{.key = "K"}}, .faults_planned = 1, .faults_fired = 1}; }
Verdict violated() {
  return {.keys = {{.key = "K", .kind = VerdictKind::lost}}, .faults_planned = 1, .faults_fired = 1};
}

PlanRecord plan(std::size_t unit, const std::string& below = "", const Verdict& verdict = held()) {
  return {.unit = unit,
          .name = unit_name(unit) + below,
          .plan = "scenario s; seed 1; kill worker-1 at at:0",
          .windows = below.empty() ? 1u : 2u,
          .verdict = verdict};
}

CampaignSpec kills(const std::string& strategy = "sweep") {
  CampaignSpec spec{.scenario = "s", .strategy = strategy, .options = {}};
  spec.options.sweep.faults = {FaultKind::kill};
  return spec;
}

Tally after(const std::vector<Record>& records, const CampaignSpec& spec = kills()) {
  Tally tally(spec);
  tally.take(CleanRecord{.digest = clean_digest, .verdict = held()}, "out");
  for (const Record& record : records) tally.take(record, "out");
  return tally;
}

std::vector<Record> all_units() {
  std::vector<Record> records;
  for (std::size_t unit = 0; unit < 5; ++unit) {
    records.emplace_back(plan(unit));
    records.emplace_back(UnitRecord{.unit = unit});
  }
  return records;
}

TEST(Tally, AllUnitsThatHoldAreAPass) {
  const CampaignResult result = after(all_units()).finish(stops());
  EXPECT_EQ(code_of(result), ExitCode::held);
  EXPECT_EQ(result.units, 5);
  EXPECT_EQ(result.units_done, 5);
  EXPECT_EQ(result.executions, 6);
  EXPECT_THAT(result.cells, SizeIs(5));
}

TEST(Tally, OneThatIsMissingIsNone) {
  std::vector<Record> records = all_units();
  records.pop_back();
  const CampaignResult result = after(records).finish(stops());
  EXPECT_EQ(code_of(result), ExitCode::incomplete);
  EXPECT_THAT(result.cells, SizeIs(5));  // what was run is there
}

TEST(Tally, TheOrderInWhichRecordsComeDoesNotMatter) {
  std::vector<Record> records = all_units();
  std::reverse(records.begin(), records.end());
  const CampaignResult result = after(records).finish(stops());
  EXPECT_EQ(code_of(result), ExitCode::held);
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(result.cells[i].cell, result.sweep.cells[i]);
}

TEST(Tally, AShardIsCompleteWithItsOwnUnits) {
  CampaignSpec spec = kills();
  spec.shard = {.index = 2, .total = 2};
  const CampaignResult result =
      after({plan(1), UnitRecord{.unit = 1}, plan(3), UnitRecord{.unit = 3}}, spec).finish(stops());
  EXPECT_EQ(code_of(result), ExitCode::held);
  EXPECT_EQ(result.units, 2);
}

TEST(Tally, ARecordThatComesTwiceCountsOnce) {
  std::vector<Record> records = all_units();
  records.insert(records.begin(), plan(0));
  EXPECT_EQ(after(records).finish(stops()).executions, 6);
}

TEST(Tally, WhatHeldBelowIsCountedAndWhatDidNotIsKept) {
  const CampaignResult result =
      after({plan(0), plan(0, ".00000"), plan(0, ".00001", violated()), UnitRecord{.unit = 0, .childless = 1}},
            kills("exhaustive"))
          .finish(stops());
  EXPECT_EQ(result.deeper.plans.at(2), 2);
  EXPECT_EQ(result.deeper.held, 1);
  EXPECT_EQ(result.deeper.childless, 1);
  ASSERT_THAT(result.deeper.cells, SizeIs(1));
  EXPECT_EQ(result.deeper.cells[0].history, "out/00000.00001.history.jsonl");
  EXPECT_EQ(code_of(result), ExitCode::violated);
}

TEST(Tally, PlansOfAnUnfinishedUnitAreKnownByName) {
  Tally tally = after({plan(0), plan(0, ".00000"), plan(1), plan(1, ".00000"), UnitRecord{.unit = 1}});
  EXPECT_TRUE(tally.knows("00000.00000"));
  EXPECT_FALSE(tally.knows("00000.00001"));
  EXPECT_FALSE(tally.is_done(0));
  EXPECT_TRUE(tally.is_done(1));
  EXPECT_FALSE(tally.knows("00001.00000"));  // nobody asks any more
}

TEST(Tally, TheFirstViolationIsKnownWhenAllBeforeItAre) {
  EXPECT_FALSE(after({plan(0), plan(2, "", violated())}).first_violation_is_known());
  EXPECT_TRUE(after({plan(0), plan(2, "", violated()), plan(1)}).first_violation_is_known());
  EXPECT_FALSE(after({plan(0)}).first_violation_is_known());
}

TEST(Tally, ARegressionThatFailsFailsTheCampaign) {
  std::vector<Record> records = all_units();
  PlanRecord regression = plan(0, "", violated());
  regression.name = "regression.x.plan";
  regression.regression = "x.plan";
  records.emplace_back(regression);
  const CampaignResult result = after(records).finish(stops());
  EXPECT_THAT(result.regressions, SizeIs(1));
  EXPECT_THAT(result.cells, SizeIs(5));
  EXPECT_EQ(code_of(result), ExitCode::violated);
}

TEST(Tally, ACapThatWasHitIsNoPass) {
  CampaignResult result = after(all_units()).finish(stops());
  result.capped = "60 s";
  EXPECT_EQ(code_of(result), ExitCode::incomplete);
}

}  // namespace
}  // namespace halfsent
