// `run` without a plan, `run --resume` and `merge`: campaigns.
#pragma once

#include <filesystem>
#include <vector>

#include "harness/cli/commands.h"

namespace halfsent {

// Runs a campaign of the scenario, whose without_invariants are set.
ExitCode explore_command(Scenario scenario, const RunOptions& options, const CommonOptions& common);

// Goes on with the one whose folder options.resume is, as it was begun.
ExitCode resume_command(const RunOptions& options, const CommonOptions& common);

struct MergeOptions {
  std::vector<std::filesystem::path> folders;  // of the shards of one campaign
};
// Says of the shards together what one campaign would have said.
ExitCode merge_command(const MergeOptions& options, const CommonOptions& common);

}  // namespace halfsent
