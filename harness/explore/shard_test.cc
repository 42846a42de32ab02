#include "harness/explore/shard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>

namespace halfsent {
namespace {

using testing::HasSubstr;

Result<Shard> with(const std::map<std::string, std::string>& environment) {
  return shard_of_environment([&](const std::string& name) -> std::optional<std::string> {
    const auto found = environment.find(name);
    return found == environment.end() ? std::nullopt : std::optional(found->second);
  });
}

Shard shard(int index, int total, const std::string& source) {
  return {.index = index, .total = total, .source = source};
}

TEST(Shard, IsWrittenAsOneOfMany) {
  EXPECT_EQ(*parse_shard("2/8"), shard(2, 8, "--shard"));
  for (const std::string_view text : {"", "2", "2/", "/8", "0/8", "9/8", "-1/8", "2/0", "2/8x", "a/b"}) {
    const Result<Shard> bad = parse_shard(text);
    ASSERT_FALSE(bad) << text;
    EXPECT_EQ(bad.error().code, ExitCode::usage);
    EXPECT_FALSE(bad.error().mend.empty());
  }
}

RC_GTEST_PROP(Shard, EveryUnitBelongsToExactlyOne, ()) {
  const int total = *rc::gen::inRange(1, 50);
  const std::size_t unit = *rc::gen::inRange<std::size_t>(0, 10'000);
  int owners = 0;
  for (int index = 1; index <= total; ++index) owners += has(shard(index, total, ""), unit) ? 1 : 0;
  RC_ASSERT(owners == 1);
}

TEST(Shard, WhatTheEnvironmentSaysIsTaken) {
  EXPECT_EQ(*with({}), Shard{});
  EXPECT_EQ(*with({{"GTEST_SHARD_INDEX", "0"}, {"GTEST_TOTAL_SHARDS", "4"}}),
            shard(1, 4, "GTEST_SHARD_INDEX of GTEST_TOTAL_SHARDS"));
  EXPECT_EQ(*with({{"TEST_SHARD_INDEX", "3"}, {"TEST_TOTAL_SHARDS", "4"}}),
            shard(4, 4, "TEST_SHARD_INDEX of TEST_TOTAL_SHARDS"));
  EXPECT_EQ(*with({{"CI_NODE_INDEX", "3"}, {"CI_NODE_TOTAL", "4"}}), shard(3, 4, "CI_NODE_INDEX of CI_NODE_TOTAL"));
  EXPECT_EQ(*with({{"JOB_COMPLETION_INDEX", "3"}, {"HALFSENT_SHARDS", "4"}}),
            shard(4, 4, "JOB_COMPLETION_INDEX of HALFSENT_SHARDS"));
  EXPECT_EQ(*with({{"JOB_COMPLETION_INDEX", "3"}}), Shard{});
  EXPECT_EQ(*with({{"CI_NODE_TOTAL", "1"}}), Shard{});
}

TEST(Shard, AnArrayOfSlurmMayBeginAnywhereAndSkipNumbers) {
  EXPECT_EQ(*with({{"SLURM_ARRAY_TASK_ID", "5"}, {"SLURM_ARRAY_TASK_MIN", "5"}, {"SLURM_ARRAY_TASK_MAX", "8"}}),
            shard(1, 4, "SLURM_ARRAY_TASK_ID"));
  const auto stepped = [](const std::string& id) {
    return with({{"SLURM_ARRAY_TASK_ID", id},
                 {"SLURM_ARRAY_TASK_MIN", "0"},
                 {"SLURM_ARRAY_TASK_MAX", "14"},
                 {"SLURM_ARRAY_TASK_STEP", "7"}});
  };
  EXPECT_EQ(*stepped("7"), shard(2, 3, "SLURM_ARRAY_TASK_ID"));
  EXPECT_FALSE(stepped("8"));
}

TEST(Shard, HalfOfAPairIsToldAndSoIsWhatIsNoNumber) {
  EXPECT_THAT(with({{"CI_NODE_TOTAL", "4"}}).error().to_string(), HasSubstr("CI_NODE_INDEX is not set"));
  EXPECT_THAT(with({{"CI_NODE_INDEX", "x"}, {"CI_NODE_TOTAL", "4"}}).error().to_string(), HasSubstr("is 'x'"));
  EXPECT_THAT(with({{"CI_NODE_INDEX", "0"}, {"CI_NODE_TOTAL", "4"}}).error().to_string(),
              HasSubstr("there is no shard 0 of 4"));
  EXPECT_THAT(with({{"SLURM_ARRAY_TASK_ID", "1"}}).error().to_string(), HasSubstr("SLURM_ARRAY_TASK_MIN is not set"));
}

}  // namespace
}  // namespace halfsent
