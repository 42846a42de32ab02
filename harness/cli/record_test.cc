#include "harness/cli/record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "harness/cli/stored_run.h"
#include "harness/core/test_bytes.h"

namespace halfsent {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

namespace fs = std::filesystem;

CampaignSpec spec() {
  CampaignSpec spec{.scenario = "s",
                    .file = "/a/s.toml",
                    .digest = "0123456789abcdef",
                    .strategy = "random",
                    .options = {},
                    .without = {"phantom"},
                    .expect_violation = true,
                    .shard = {.index = 2, .total = 4, .source = "--shard"}};
  spec.options = {.sweep = {.faults = {FaultKind::kill, FaultKind::drop},
                            .past_lease = Nanoseconds(61),
                            .within_lease = Nanoseconds(30),
                            .failover_loses = 3},
                  .bounds = {.faults = 2, .switches = 1},
                  .seed = ~std::uint64_t{0},
                  .plans = 77};
  return spec;
}

template <class T>
T back(const T& record) {
  const Result<Record> read = parse_record(to_line(record));
  return std::get<T>(*read);
}

TEST(Record, TheSpecOfACampaignComesBack) {
  EXPECT_EQ(to_line(back(spec())), to_line(spec()));
  EXPECT_EQ(back(spec()).options.sweep.faults, spec().options.sweep.faults);
  EXPECT_EQ(back(spec()).shard, spec().shard);
}

TEST(Record, EachKindComesBack) {
  const CleanRecord clean = back(CleanRecord{.digest = "d", .verdict = {.accepted = 3}});
  EXPECT_EQ(clean.digest, "d");
  EXPECT_EQ(clean.verdict.accepted, 3);
  const PlanRecord failed = back(PlanRecord{.unit = 3,
                                            .name = "00003.00001",
                                            .regression = "x.plan",
                                            .plan = "scenario s; seed 1; kill worker-1 at after_claim",
                                            .windows = 2,
                                            .runs = 2,
                                            .error = Error{.code = ExitCode::diverged, .message = "m"}});
  EXPECT_EQ(failed.name, "00003.00001");
  EXPECT_EQ(failed.regression, "x.plan");
  EXPECT_EQ(failed.windows, 2u);
  EXPECT_EQ(failed.error->code, ExitCode::diverged);
  EXPECT_EQ(back(UnitRecord{.unit = 7, .childless = 2}).childless, 2);
  EXPECT_EQ(back(TwinRecord{.text = "t", .code = ExitCode::harness_fault}).code, ExitCode::harness_fault);
  EXPECT_EQ(back(FailureRecord{.error = {.message = "m"}}).error.message, "m");
}

RC_GTEST_PROP(Record, APlanWithAnyKeyComesBack, ()) {
  const Plan plan{
      .scenario = "s",
      .seed = 1,
      .faults = {
          {.kind = FaultKind::kill, .target = "a-1", .at = Anchor{.boundary = "after_claim", .key = *any_bytes()}}}};
  const PlanRecord record = back(PlanRecord{.name = "00000", .plan = to_string(plan)});
  RC_ASSERT(*parse_plan(record.plan) == plan);
}

TEST(Record, WhatIsNoneIsRefused) {
  for (const std::string_view line : {"", "{}", "[]", "{\"plan\":3}", "{\"done\":\"x\"}", "{\"halfsent_results\":2}"})
    EXPECT_FALSE(parse_record(line)) << line;
}

TEST(Record, PartsOfOneCampaignDifferInTheirShardOnly) {
  CampaignSpec other = spec();
  other.file = "/b/s.toml";
  other.shard = {.index = 3, .total = 4, .source = "CI_NODE_INDEX of CI_NODE_TOTAL"};
  EXPECT_EQ(difference(spec(), other), "");
  other.shard.total = 5;
  EXPECT_EQ(difference(spec(), other), "shards is 4 and 5");
  other = spec();
  other.options.seed = 7;
  EXPECT_THAT(difference(spec(), other), HasSubstr("seed is"));
}

class Results : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "halfsent-results-XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { fs::remove_all(folder_); }
  void write(const std::string& text) { ASSERT_TRUE(write_text(folder_ / results_name, text)); }

  fs::path folder_;
};

TEST_F(Results, ALineThatWasCutOffIsLeftOut) {
  const std::string whole = to_line(spec()) + "\n" + to_line(UnitRecord{.unit = 1}) + "\n";
  write(whole + to_line(UnitRecord{.unit = 2}));
  const Result<StoredResults> results = load_results(folder_);
  ASSERT_TRUE(results);
  EXPECT_THAT(results->records, SizeIs(1));
  EXPECT_EQ(results->complete_bytes, whole.size());
}

TEST_F(Results, WhatCannotBeReadIsToldWithItsLine) {
  write(to_line(spec()) + "\nnonsense\n");
  EXPECT_EQ(load_results(folder_).error().line, 2);
  write(to_line(UnitRecord{.unit = 1}) + "\n");
  EXPECT_THAT(load_results(folder_).error().message, HasSubstr("do not begin with what the campaign is"));
  write("");
  EXPECT_THAT(load_results(folder_).error().message, HasSubstr("empty"));
  EXPECT_THAT(load_results(folder_ / "nowhere").error().message, HasSubstr("holds no results"));
}

}  // namespace
}  // namespace halfsent
