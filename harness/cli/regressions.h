// Plans that once failed, kept beside the scenario: regressions/NAME/*.plan. Each campaign runs them first.
#pragma once

#include <filesystem>
#include <vector>

#include "harness/cli/campaign.h"

namespace halfsent {

// In the order of their names. Errors: ExitCode::usage with file and line: no plan, or one of another scenario.
Result<std::vector<Regression>> load_regressions(const Scenario& scenario);

// Writes the plan as a file of its own, whose name comes from what it says: the same plan is one file.
Result<std::filesystem::path> save_regression(const Scenario& scenario, const Plan& plan, const Verdict& verdict);

}  // namespace halfsent
