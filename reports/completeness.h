// The statement at the end of a campaign: what was run, and what was left out and why. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "harness/explore/shard.h"
#include "harness/explore/strategy.h"

namespace halfsent {

struct Completeness {
  std::string strategy = "sweep";
  Bounds bounds = {};
  std::uint64_t seed = 1;                // random: of the choices
  std::vector<std::string> faults = {};  // the alphabet
  std::map<std::size_t, int> plans =
      {};                 // run, by the number of windows that they strike; 0: the execution without faults
  int regressions = 0;    // run before them
  int executions = 0;     // of plans, and those that confirm
  int childless = 0;      // plans within the bounds whose children were left out, since they did not hold
  int idle_left_out = 0;  // of the execution without faults
  int not_reached = 0;    // plans with a fault that never fired
  int units = 0;          // the strategy's first plans, of this shard
  int units_done = 0;
  Shard shard = {};
  std::string capped = {};  // the cap that was hit; empty: none
};

// Several lines, each ends in a new line.
std::string completeness_statement(const Completeness& campaign);

}  // namespace halfsent
