// `halfsent selfcheck`: would we notice? Each seeded defect of a reference system must be caught by the default
// strategy alone, with a verdict that its row allows, through a plan that repeats; and the system without it, in the
// same scenarios, must be accused of nothing.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "harness/cli/commands.h"
#include "harness/core/error.h"
#include "harness/scenario/defects.h"
#include "harness/scenario/scenario.h"

namespace halfsent {

struct SelfcheckOptions {
  std::filesystem::path table = "sut/polling/defects.toml";
  std::vector<std::string> only;     // ids or switches; empty: all
  std::vector<std::string> without;  // names of invariants that are not to be judged
  bool reference = true;             // also the right system
  std::uint64_t seed = 1;
};

// Exit codes: violated when a defect is not caught or the right system is accused.
ExitCode selfcheck_command(const SelfcheckOptions& options, const CommonOptions& common);

// A table of seeded defects; empty: the default one.
Result<DefectTable> seeded_defects(const std::filesystem::path& table);

// The scenario of a plan of the self-check, "selfcheck.ID"; its table is the default one, or `table`.
Result<Scenario> find_selfcheck(const std::string& name, const std::filesystem::path& table);

// Whether a plan's scenario is one of the self-check.
bool is_selfcheck(const std::string& name);

}  // namespace halfsent
