// One job of a campaign: a process with a sandbox of its own that runs its share of the units. Private to this folder.
#pragma once

#include "harness/cli/campaign.h"

namespace halfsent {

inline constexpr const char* clean_name = "clean";

// Runs the regressions and units of the shard of which it is the turn of `job`, but for what `before` has already, and
// tells `fd` of each as the lines of record.h: first of the execution without faults, whose history is stored by then.
void run_job(const Scenario& scenario, const CampaignSpec& spec, const CampaignOptions& options, const Tally& before,
             int job, int cpu, int fd);

}  // namespace halfsent
