// One job of a campaign: a process with a sandbox of its own that runs its share of the cells. Private to this folder.
#pragma once

#include <cstdint>
#include <string>

#include "harness/cli/campaign.h"

namespace halfsent {

inline constexpr const char* clean_name = "clean";
// What stands for a cell in a job's words about its clean execution. One job has it on disk when it says so.
inline constexpr std::int64_t clean_stored = -1;
inline constexpr std::int64_t clean_done = -2;

// Under which name the executions of a cell are stored; those below it have its name, a point and another number.
std::string cell_name(std::size_t index);

Plan plan_of(const Scenario& scenario, std::uint64_t seed, const SweepCell& cell);

// The cells of the campaign, which all jobs derive from equal histories.
SweepPlan sweep_of(const Scenario& scenario, const CampaignOptions& options, const History& clean);

// Runs every options.jobs-th cell, from `job` on, and tells `fd` of each, one JSON object a line: {"cell":3,"runs":2};
// of a plan below it {"cell":3,"name":"00003.00001","plan":"...","windows":2,"runs":1}; then {"cell":3,"runs":0,
// "childless":1}. With an error its parts are in "error".
void run_job(const Scenario& scenario, const CampaignOptions& options, int job, int cpu, int fd);

}  // namespace halfsent
