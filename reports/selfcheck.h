// What `halfsent selfcheck` prints: per seeded defect whether it was noticed, and how the right system did. Pure.
#pragma once

#include <string>
#include <vector>

#include "reports/terminal.h"

namespace halfsent {

enum class Noticed {
  caught,   // by a verdict that the table has
  by_plan,  // only under the table's own plan: one fault does not show it, and the strategy strikes with one
  allowed,  // a control: accused of nothing, and seen
  missed,
  wrong,    // by another verdict, or without the fault that it needs
  crashed,  // it could not be checked
};

struct DefectReport {
  std::string id = {};
  std::string name = {};
  Noticed noticed = Noticed::missed;
  std::string verdict = {};  // "duplicate", "lost, attempts"; or why it was crashed
  std::string plan = {};     // faults under which it shows; empty: none are needed, or it was not caught
  int executions = 0;        // until it was caught, or in all
  double seconds = 0;
};

struct ReferenceReport {
  std::string name = {};  // the scenarios' ids that share this one
  int executions = 0;
  int held = 0;
  int undecided = 0;         // inconclusive or not reached
  std::string accused = {};  // empty: of nothing; else the verdict and the plan
};

struct SelfcheckReport {
  std::vector<DefectReport> defects = {};
  std::vector<ReferenceReport> references = {};
  double seconds = 0;
};

// "M01  select-then-update  caught  duplicate  12 executions  0.8 s  switch worker-1 at ..."; ends in a new line.
// `widest`: of the names that will be printed.
std::string defect_line(const DefectReport& defect, std::size_t widest, const Style& style);
std::string reference_line(const ReferenceReport& reference, const Style& style);
// Totals, and the median of executions to a catch.
std::string selfcheck_totals(const SelfcheckReport& report, const Style& style);
// Everything is caught or allowed, and the right system is accused of nothing.
bool is_good(const SelfcheckReport& report);

}  // namespace halfsent
