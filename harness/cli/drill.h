// Drills: fixed plans with expectations, run on each system that the drill names.
#pragma once

#include <filesystem>
#include <string>

#include "harness/cli/commands.h"
#include "harness/core/error.h"
#include "harness/scenario/scenario.h"

namespace halfsent {

// Runs every plan of the drill: on `system` (a file, or the name of one of the drill's systems), or without it on all
// of them, those that must fail too. Prints verdict and numbers of each execution; tells the story of what is wrong.
// The exit code: what is most serious of the systems that must hold; harness_fault when one that must fail held.
ExitCode run_drill(const Scenario& drill, const std::string& system, const CommonOptions& common);

// The drill DRILL on the system SYSTEM for a plan of the scenario DRILL.SYSTEM. `file`: the drill's; empty: DRILL.toml
// in scenarios/drills/, drills/, scenarios/ or here. A system that the drill does not name is looked for likewise.
// Errors: ExitCode::usage, also when the name has no such form.
Result<Scenario> find_drill(const std::string& name, const std::filesystem::path& file);

}  // namespace halfsent
