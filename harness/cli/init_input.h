// What the user gave to init, checked and made ready for trial runs.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "harness/cli/init.h"
#include "harness/core/error.h"

namespace halfsent::init {

struct Input {
  std::vector<std::string> command = {};
  std::map<std::string, std::string> env = {};
  std::filesystem::path ledger = {};              // as given
  std::string ledger_path = {};                   // in the world
  std::vector<std::filesystem::path> files = {};  // absolute
  std::filesystem::path output = {};              // the scenario
  std::filesystem::path setup = {};               // beside it
  std::string name = {};                          // of the scenario
};

// Errors: ExitCode::usage with the mend; nothing has been run or written then.
Result<Input> read_input(const InitOptions& options);

// The words of a command line; one with shell operators becomes sh -c "...". Pure. Errors: an open quote.
Result<std::vector<std::string>> split_command(const std::string& command);

}  // namespace halfsent::init
