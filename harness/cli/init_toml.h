// A new scenario as TOML with comments, and what its author is asked to edit. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "harness/cli/init_guess.h"

namespace halfsent::init {

// All that goes into the file.
struct Sketch {
  std::string name;
  std::vector<std::string> files;  // relative to the scenario
  std::vector<std::string> command;
  std::map<std::string, std::string> env;
  std::string ledger_path;  // in the world
  std::string setup_file;   // relative to the scenario
  std::string jobs;         // SQL
  bool jobs_made_up = false;
  LedgerGuess ledger;
  std::optional<Nanoseconds> measured_lease;  // from one claim to the next after a kill
  KeyGuess key;
  std::uint16_t port = 8080;
  bool port_seen = false;      // the worker has connected to it
  bool requests_seen = false;  // and has sent something that is a request
};

struct Edit {
  int line = 0;      // in the file, from 1
  std::string what;  // for the terminal: one sentence
};

struct Written {
  std::string text;
  std::vector<Edit> edits;  // in order of lines
};

Written write_scenario(const Sketch& sketch);

}  // namespace halfsent::init
