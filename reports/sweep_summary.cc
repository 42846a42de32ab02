#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <span>
#include <utility>

#include "harness/core/text.h"
#include "reports/layout.h"

namespace halfsent {
namespace {

constexpr std::array<std::string_view, 15> outcome_names = {
    "DUPLICATE", "ghost", "phantom",  "hidden",       "lost",        "wrong key", "misflag", "stuck",
    "broken",    "error", "diverged", "inconclusive", "not reached", "flagged",   "ok"};
static_assert(outcome_names.back() == "ok");

Paint colour_of(CellOutcome outcome) {
  switch (outcome) {
    case CellOutcome::duplicate:
    case CellOutcome::ghost:
    case CellOutcome::phantom:
    case CellOutcome::hidden:
    case CellOutcome::lost:
    case CellOutcome::wrong_key:
    case CellOutcome::misflag:
    case CellOutcome::stuck:
    case CellOutcome::broken:
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

constexpr std::string_view from_the_start = "from the start";

std::string window_label(const std::optional<Boundary>& boundary) {
  if (!boundary) return std::string(from_the_start);
  return printable(boundary->name) + (boundary->key.empty() ? "" : " " + quote_key(boundary->key));
}

std::vector<std::string> window_labels(const SweepSummary& summary) {
  std::vector<std::string> found;
  for (const auto& cell : summary.cells) {
    const std::string text = window_label(cell.boundary);
    if (std::find(found.begin(), found.end(), text) == found.end()) found.push_back(text);
  }
  return found;
}

using Matrix = std::map<std::pair<std::string, std::string>, std::vector<CellOutcome>>;

Cell cell_of(const Matrix& matrix, const std::string& window, const std::string& column) {
  const auto found = matrix.find({window, column});
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

// "kill all, one back" in lines of a few words: a column is as narrow as its cells.
std::vector<std::string> head_lines(std::string_view label) {
  constexpr std::size_t widest = 9;
  std::vector<std::string> lines(1);
  while (!label.empty()) {
    const std::string_view word = label.substr(0, label.find(' '));
    label.remove_prefix(std::min(word.size() + 1, label.size()));
    std::string& line = lines.back();
    if (line.empty()) {
      line = word;
    } else if (line.size() + 1 + word.size() <= widest) {
      line.append(" ").append(word);
    } else {
      lines.emplace_back(word);
    }
  }
  return lines;
}

class MatrixTable {
 public:
  MatrixTable(const SweepSummary& summary, const Style& style) : style_(style), windows_(window_labels(summary)) {
    for (const auto& cell : summary.cells) matrix_[{window_label(cell.boundary), cell.column}].push_back(cell.outcome);
    for (const std::string& label : summary.columns) columns_.push_back({label, head_lines(label), width_of(label)});
  }

  [[nodiscard]] std::size_t not_applicable() const { return windows_.size() * columns_.size() - matrix_.size(); }
  [[nodiscard]] int windows() const {
    return static_cast<int>(windows_.size() - std::count(windows_.begin(), windows_.end(), from_the_start));
  }

  // In as many parts as the width asks for.
  [[nodiscard]] std::string text() const {
    std::string out;
    for (std::size_t first = 0; first < columns_.size();) {
      std::size_t last = first + 1;
      std::size_t width = window_width() + columns_[first].width + 2;
      while (last < columns_.size() && fits(width + columns_[last].width + 2)) width += columns_[last++].width + 2;
      out += part(std::span(columns_).subspan(first, last - first)) + "\n";
      first = last;
    }
    return out;
  }

 private:
  struct Column {
    std::string label;
    std::vector<std::string> head;
    std::size_t width;
  };

  [[nodiscard]] bool fits(std::size_t width) const {
    return style_.width <= 0 || width <= static_cast<std::size_t>(style_.width);
  }

  // Long keys are cut before they take the room of the verdicts.
  [[nodiscard]] std::size_t window_width() const {
    std::size_t widest = 0;
    for (const std::string& window : windows_) widest = std::max(widest, display_width(window));
    return style_.width <= 0 ? widest : std::min(widest, std::max<std::size_t>(12, style_.width * 2 / 5));
  }

  [[nodiscard]] std::size_t width_of(const std::string& label) const {
    std::size_t width = 0;
    for (const std::string& line : head_lines(label)) width = std::max(width, line.size());
    for (const std::string& window : windows_) width = std::max(width, cell_of(matrix_, window, label).text.size());
    return width;
  }

  [[nodiscard]] std::string part(std::span<const Column> columns) const {
    std::size_t lines = 0;
    for (const Column& column : columns) lines = std::max(lines, column.head.size());
    std::vector<std::vector<Cell>> rows(lines);
    for (std::size_t line = 0; line < lines; ++line) {  // heads stand on the cells
      rows[line].push_back({line + 1 == lines ? "window" : "", Paint::bold});
      for (const Column& column : columns) {
        const std::size_t above = lines - column.head.size();
        rows[line].push_back({line < above ? "" : column.head[line - above], Paint::bold});
      }
    }
    for (const std::string& window : windows_) {
      const bool says_nothing = std::none_of(columns.begin(), columns.end(), [&](const Column& column) {
        return matrix_.contains({window, column.label});
      });
      if (says_nothing) continue;
      rows.push_back({{window}});
      for (const Column& column : columns) rows.back().push_back(cell_of(matrix_, window, column.label));
    }
    return table(rows, 0, style_);
  }

  Style style_;
  std::vector<std::string> windows_;
  Matrix matrix_;
  std::vector<Column> columns_;
};

std::string totals(const SweepSummary& summary, int windows, std::size_t not_applicable) {
  std::string out = fmt::format("{}, {}:", count_of(windows, "window"), count_of(summary.executions, "execution"));
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
  if (!summary.unused_columns.empty())
    out += fmt::format("nothing here to strike at: {}\n", fmt::join(summary.unused_columns, "; "));
  return out;
}

}  // namespace

std::string_view to_string(CellOutcome outcome) { return outcome_names.at(static_cast<std::size_t>(outcome)); }

namespace {

CellOutcome outcome_of(VerdictKind kind) {
  switch (kind) {
    case VerdictKind::once:
      return CellOutcome::ok;
    case VerdictKind::flagged:
      return CellOutcome::flagged;
    case VerdictKind::duplicate:
      return CellOutcome::duplicate;
    case VerdictKind::lost:
      return CellOutcome::lost;
    case VerdictKind::stuck:
      return CellOutcome::stuck;
    case VerdictKind::phantom:
      return CellOutcome::phantom;
    case VerdictKind::wrong_key:
      return CellOutcome::wrong_key;
    case VerdictKind::hidden:
      return CellOutcome::hidden;
    case VerdictKind::misflag:
      return CellOutcome::misflag;
    case VerdictKind::ghost:
      return CellOutcome::ghost;
  }
  return CellOutcome::ok;
}

}  // namespace

CellOutcome cell_outcome(const Verdict& verdict) {
  CellOutcome worst = CellOutcome::ok;
  const auto take = [&worst](CellOutcome outcome) { worst = std::min(worst, outcome); };
  for (const auto& key : verdict.keys) take(outcome_of(key.kind));
  if (!verdict.broken.empty()) take(CellOutcome::broken);
  if (!verdict.inconclusive.empty()) take(CellOutcome::inconclusive);
  if (!verdict.not_reached.empty() || verdict.keys.empty()) take(CellOutcome::not_reached);
  return worst;
}

std::string sweep_summary(const SweepSummary& summary, const Style& style) {
  const MatrixTable matrix(summary, style);
  const std::string text = summary.cells.empty() ? "no window was swept\n" : matrix.text();
  return text + totals(summary, matrix.windows(), matrix.not_applicable());
}

}  // namespace halfsent
