// A campaign split over machines that know nothing of each other. Pure but for the lookup that is passed in.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "harness/core/error.h"

namespace halfsent {

struct Shard {
  int index = 1;  // from 1
  int total = 1;
  std::string source = {};  // where it was told; empty: nobody told, it is the whole
  friend bool operator==(const Shard&, const Shard&) = default;
};

// Units are dealt out in turn, so that neighbours, which take equally long, go to different shards.
constexpr bool has(const Shard& shard, std::size_t unit) {
  return unit % static_cast<std::size_t>(shard.total) == static_cast<std::size_t>(shard.index - 1);
}

// "2/8". Errors: ExitCode::usage.
Result<Shard> parse_shard(std::string_view text);

// The value of an environment variable; none: it is not set.
using Lookup = std::function<std::optional<std::string>(const std::string& name)>;

// What a test runner, a batch engine or a CI system says in the environment, the first of: GTEST_SHARD_INDEX of
// GTEST_TOTAL_SHARDS, TEST_SHARD_INDEX of TEST_TOTAL_SHARDS (Bazel), SLURM_ARRAY_TASK_ID from _MIN to _MAX in steps,
// CI_NODE_INDEX of CI_NODE_TOTAL (GitLab), JOB_COMPLETION_INDEX (Kubernetes) of HALFSENT_SHARDS, which the job must
// set: Kubernetes does not tell. Without any of them it is the whole. Errors: ExitCode::usage: a half of a pair, or no
// number.
Result<Shard> shard_of_environment(const Lookup& lookup);

}  // namespace halfsent
