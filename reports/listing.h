// What `halfsent list` prints: the tables that the code itself goes by, so that nothing is documented twice.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "reports/terminal.h"

namespace halfsent {

// A scenario's file as a list shows it.
struct ListedScenario {
  std::string name;         // where the file cannot be read: its file name
  std::string outcome;      // "held", "violated", or "cannot be read"
  std::string description;  // or why it cannot be read
};

// A seeded defect of the reference system as a list shows it.
struct ListedDefect {
  std::string id;
  std::string name;
  std::string part;
  std::string what;
};

// Each ends in a new line and begins with a heading.
std::string scenario_list(const std::string& folder, const std::vector<ListedScenario>& scenarios, const Style& style);
std::string defect_list(const std::vector<ListedDefect>& defects, const Style& style);
std::string fault_list(const Style& style);
std::string invariant_list(const Style& style);
std::string strategy_list(const Style& style);
std::string boundary_list(const Style& style);

}  // namespace halfsent
