// The statement at the end of an exhaustive campaign: what was run, and what was left out and why. Pure.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "harness/explore/exhaustive.h"

namespace halfsent {

struct Completeness {
  Bounds bounds;
  std::vector<std::string> faults;   // the alphabet
  std::map<std::size_t, int> plans;  // run, by the number of windows that they strike; 0: the execution without faults
  int executions = 0;                // parents and confirmations too
  int childless = 0;                 // plans within the bounds whose children were left out, since they did not hold
  int idle_left_out = 0;             // of the execution without faults
  int not_run = 0;                   // plans of the sweep that an interruption left; what is below them is not counted
};

// Several lines, each ends in a new line.
std::string completeness_statement(const Completeness& campaign);

}  // namespace halfsent
