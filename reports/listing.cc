#include "reports/listing.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "harness/contract/judge.h"
#include "harness/core/text.h"
#include "harness/explore/strategy.h"
#include "reports/layout.h"

namespace halfsent {
namespace {

std::string heading(std::string_view text, const Style& style) { return paint(text, Paint::bold, style) + "\n"; }

// Two columns, the second of which is never cut: it is prose, and a terminal breaks its lines.
template <class Table>
std::string names_and_summaries(const Table& rows) {
  std::size_t widest = 0;
  for (const auto& row : rows) widest = std::max(widest, display_width(row.name));
  std::string out;
  for (const auto& row : rows) out += fmt::format("  {}  {}\n", pad(row.name, widest), row.summary);
  return out;
}

}  // namespace

std::string scenario_list(const std::string& folder, const std::vector<ListedScenario>& scenarios, const Style& style) {
  std::string out = heading(fmt::format("scenarios in {}", printable(folder)), style);
  std::size_t name_width = 0;
  std::size_t outcome_width = 0;
  for (const ListedScenario& scenario : scenarios) {
    name_width = std::max(name_width, display_width(printable(scenario.name)));
    outcome_width = std::max(outcome_width, display_width(scenario.outcome));
  }
  for (const ListedScenario& scenario : scenarios)
    out += fmt::format("  {}  {}  {}\n", pad(printable(scenario.name), name_width),
                       pad(scenario.outcome, outcome_width), printable(scenario.description));
  return scenarios.empty() ? out + "  none\n" : out;
}

std::string fault_list(const Style& style) {
  std::string out = heading("faults: what a plan is made of", style);
  for (const FaultInfo& fault : fault_table()) {
    std::vector<std::string_view> columns;
    for (const SweepColumn& column : sweep_columns())
      if (column.kind == fault.kind) columns.push_back(column.label);
    out += fmt::format("  {}\n      {}\n      e.g. {}\n      in a sweep: {}\n", paint(fault.syntax, Paint::bold, style),
                       fault.summary, fault.example, fmt::join(columns, "; "));
  }
  return out;
}

std::string defect_list(const std::vector<ListedDefect>& defects, const Style& style) {
  std::vector<std::vector<Cell>> rows;
  for (const ListedDefect& defect : defects)
    rows.push_back({{.text = "  " + printable(defect.id)},
                    {.text = printable(defect.name)},
                    {.text = printable(defect.part)},
                    {.text = printable(defect.what)}});
  if (rows.empty()) rows.push_back({{.text = "  none here"}, {.text = ""}, {.text = ""}, {.text = ""}});
  return heading("defects: what halfsent selfcheck must notice", style) + table(rows, 3, style);
}

std::string invariant_list(const Style& style) {
  return heading("invariants: what violates, per job, in order of precedence", style) +
         names_and_summaries(invariant_table()) + heading("invariants of the run: what holds over all jobs", style) +
         names_and_summaries(run_invariant_table()) +
         "Each is turned off by its name: halfsent run SCENARIO --without-invariant NAME\n";
}

std::string strategy_list(const Style& style) {
  return heading("strategies: which plans are run", style) + names_and_summaries(strategy_table());
}

std::string boundary_list(const Style& style) {
  return heading("boundaries: where a fault can strike", style) + names_and_summaries(boundary_table());
}

}  // namespace halfsent
