// `halfsent list`: what there is to run, to strike with and to judge by, from the code's own tables.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "harness/core/error.h"
#include "reports/terminal.h"

namespace halfsent {

// What can be listed, in the order in which all of it is.
std::vector<std::string> list_topics();

struct ListOptions {
  std::string topic;  // one of list_topics(); empty: all of them
  std::filesystem::path folder = "scenarios";
};

// Prints to stdout. A folder that is not there or has no scenario is an error only where scenarios were asked for; a
// scenario that cannot be read is listed with its error and makes the exit code `usage`.
ExitCode list_command(const ListOptions& options, const Style& style);

}  // namespace halfsent
