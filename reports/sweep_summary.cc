#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "harness/core/text.h"
#include "reports/layout.h"

namespace halfsent {
namespace {

constexpr std::array<std::string_view, 10> outcome_names = {
    "DUPLICATE", "phantom", "lost", "stuck", "error", "diverged", "inconclusive", "not reached", "flagged", "ok"};

Paint colour_of(CellOutcome outcome) {
  switch (outcome) {
    case CellOutcome::duplicate:
    case CellOutcome::phantom:
    case CellOutcome::lost:
    case CellOutcome::stuck:
      return Paint::bad;
    case CellOutcome::error:
    case CellOutcome::diverged:
    case CellOutcome::inconclusive:
    case CellOutcome::not_reached:
      return Paint::warn;
    case CellOutcome::flagged:
    case CellOutcome::ok:
      return Paint::good;
  }
  return Paint::plain;
}

std::string fault_label(const Fault& fault) {
  std::string label(info(fault.kind).name);
  if (fault.kind == FaultKind::status) label += fmt::format(" {}", fault.status);
  return label;
}

std::string window_label(const Boundary& boundary) {
  return printable(boundary.name) + (boundary.key.empty() ? "" : " " + quote_key(boundary.key));
}

template <class Label>
std::vector<std::string> labels(const SweepSummary& summary, Label label) {
  std::vector<std::string> found;
  for (const auto& cell : summary.cells) {
    const std::string text = label(cell);
    if (std::find(found.begin(), found.end(), text) == found.end()) found.push_back(text);
  }
  return found;
}

using Matrix = std::map<std::pair<std::string, std::string>, std::vector<CellOutcome>>;

Cell cell_of(const Matrix& matrix, const std::string& window, const std::string& fault) {
  const auto found = matrix.find({window, fault});
  if (found == matrix.end()) return {"n/a", Paint::dim};
  const auto& outcomes = found->second;
  const CellOutcome worst = *std::min_element(outcomes.begin(), outcomes.end());
  const auto count = static_cast<std::size_t>(std::count(outcomes.begin(), outcomes.end(), worst));
  std::string text(to_string(worst));
  if (count != outcomes.size()) {
    text += fmt::format(" {}/{}", count, outcomes.size());
  } else if (count > 1) {
    text += fmt::format(" x{}", count);
  }
  return {text, colour_of(worst)};
}

std::string totals(const SweepSummary& summary, std::size_t windows, std::size_t not_applicable) {
  std::string out =
      fmt::format("{}, {}:", count_of(static_cast<int>(windows), "window"), count_of(summary.executions, "execution"));
  for (std::size_t i = outcome_names.size(); i-- > 0;) {
    const auto outcome = static_cast<CellOutcome>(i);
    const auto count = std::count_if(summary.cells.begin(), summary.cells.end(),
                                     [outcome](const SweepCellResult& cell) { return cell.outcome == outcome; });
    if (count > 0 || outcome == CellOutcome::ok) out += fmt::format(" {} {},", count, outcome_names[i]);
  }
  out += fmt::format(" {} n/a\n", not_applicable);
  out += fmt::format("{} accepted, {} recognised; {} of {} fired", count_of(summary.accepted, "effect"),
                     count_of(summary.deduplicated, "repeat"), summary.faults_fired,
                     count_of(summary.faults_planned, "fault"));
  if (summary.idle_left_out > 0) out += fmt::format("; {} left out", count_of(summary.idle_left_out, "idle stop"));
  out += "\n";
  if (!summary.without_windows.empty()) {
    out += "not swept, because they strike at no window:";
    for (const FaultKind kind : summary.without_windows) out += fmt::format(" {}", info(kind).name);
    out += "\n";
  }
  return out;
}

}  // namespace

std::string_view to_string(CellOutcome outcome) { return outcome_names.at(static_cast<std::size_t>(outcome)); }

CellOutcome cell_outcome(const Verdict& verdict) {
  CellOutcome worst = CellOutcome::ok;
  const auto take = [&worst](CellOutcome outcome) { worst = std::min(worst, outcome); };
  for (const auto& key : verdict.keys) {
    switch (key.kind) {
      case VerdictKind::once:
        break;
      case VerdictKind::flagged:
        take(CellOutcome::flagged);
        break;
      case VerdictKind::duplicate:
        take(CellOutcome::duplicate);
        break;
      case VerdictKind::lost:
        take(CellOutcome::lost);
        break;
      case VerdictKind::stuck:
        take(CellOutcome::stuck);
        break;
      case VerdictKind::phantom:
        take(CellOutcome::phantom);
        break;
    }
  }
  if (!verdict.inconclusive.empty()) take(CellOutcome::inconclusive);
  if (!verdict.not_reached.empty() || verdict.keys.empty()) take(CellOutcome::not_reached);
  return worst;
}

std::string sweep_summary(const SweepSummary& summary, const Style& style) {
  const auto windows = labels(summary, [](const SweepCellResult& cell) { return window_label(cell.boundary); });
  const auto faults = labels(summary, [](const SweepCellResult& cell) { return fault_label(cell.fault); });
  Matrix matrix;
  for (const auto& cell : summary.cells) {
    matrix[{window_label(cell.boundary), fault_label(cell.fault)}].push_back(cell.outcome);
  }
  std::vector<std::vector<Cell>> rows(1);
  rows[0].push_back({"window", Paint::bold});
  for (const auto& fault : faults) rows[0].push_back({fault, Paint::bold});
  for (const auto& window : windows) {
    rows.push_back({{window}});
    for (const auto& fault : faults) rows.back().push_back(cell_of(matrix, window, fault));
  }
  const std::size_t not_applicable = windows.size() * faults.size() - matrix.size();
  const std::string text = summary.cells.empty() ? "no window was swept\n" : table(rows, 0, style) + "\n";
  return text + totals(summary, windows.size(), not_applicable);
}

}  // namespace halfsent
