// halfsent init: from a worker and its ledger to a scenario, by looking at the schema and at trial runs.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "harness/core/error.h"

namespace halfsent {

struct InitOptions {
  std::string command;           // as for a shell
  std::filesystem::path ledger;  // need not exist when the worker makes it
  std::filesystem::path files;   // folder whose content the worker runs in; empty: the files that the command names
  std::filesystem::path output;  // empty: named after the worker, in this folder
  std::vector<std::string> env;  // NAME=VALUE
};

// Writes OUTPUT and beside it OUTPUT's name with .setup.sql; what is there already is never overwritten. Prints what
// was found and what is left to edit. The ledger is copied, never opened.
ExitCode init_command(const InitOptions& options);

}  // namespace halfsent
