// Two executions of one plan that went different ways. Pure.
#pragma once

#include <string>

#include "harness/core/history.h"
#include "reports/terminal.h"

namespace halfsent {

// Both histories side by side around the first event that differs, which is marked with '>', then that event in full.
// Says so where they are equal. Ends in a new line.
std::string divergence(const History& first, const History& second, const Style& style);

}  // namespace halfsent
