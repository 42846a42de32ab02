#include "reports/selfcheck.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "harness/core/text.h"
#include "reports/layout.h"

namespace halfsent {
namespace {

struct Word {
  std::string_view text;
  Paint how;
};

constexpr std::array words = {Word{"caught", Paint::good}, Word{"by plan", Paint::warn}, Word{"allowed", Paint::good},
                              Word{"MISSED", Paint::bad},  Word{"WRONG", Paint::bad},    Word{"CRASHED", Paint::bad}};

Word word_of(Noticed noticed) { return words.at(static_cast<std::size_t>(noticed)); }

int count(const SelfcheckReport& report, Noticed noticed) {
  return static_cast<int>(std::count_if(report.defects.begin(), report.defects.end(),
                                        [&](const DefectReport& defect) { return defect.noticed == noticed; }));
}

}  // namespace

std::string defect_line(const DefectReport& defect, std::size_t widest, const Style& style) {
  const Word word = word_of(defect.noticed);
  std::string line = fmt::format("{}  {}  {}  {}", pad(printable(defect.id), 4), pad(printable(defect.name), widest),
                                 paint(pad(word.text, 7), word.how, style), pad(printable(defect.verdict), 22));
  line += fmt::format("  {:>14}  {:>5.1f} s", count_of(defect.executions, "execution"), defect.seconds);
  if (!defect.plan.empty()) line += "  " + printable(defect.plan);
  return line + "\n";
}

std::string reference_line(const ReferenceReport& reference, const Style& style) {
  std::string line = fmt::format("{}  {}, {} held",
                                 paint(pad(reference.accused.empty() ? "held" : "ACCUSED", 7),
                                       reference.accused.empty() ? Paint::good : Paint::bad, style),
                                 count_of(reference.executions, "execution"), reference.held);
  if (reference.undecided > 0) line += fmt::format(", {} undecided", reference.undecided);
  line += "  " + printable(reference.name);
  if (!reference.accused.empty()) line += "\n         " + printable(reference.accused);
  return line + "\n";
}

std::string selfcheck_totals(const SelfcheckReport& report, const Style& style) {
  std::vector<int> needed;
  for (const DefectReport& defect : report.defects)
    if (defect.noticed == Noticed::caught) needed.push_back(defect.executions);
  std::sort(needed.begin(), needed.end());
  const auto accused = std::count_if(report.references.begin(), report.references.end(),
                                     [](const ReferenceReport& reference) { return !reference.accused.empty(); });
  std::string line =
      fmt::format("{} defects: {} caught, {} by their plan only, {} allowed, {} missed, {} wrong, {} crashed",
                  report.defects.size(), count(report, Noticed::caught), count(report, Noticed::by_plan),
                  count(report, Noticed::allowed), count(report, Noticed::missed), count(report, Noticed::wrong),
                  count(report, Noticed::crashed));
  if (!needed.empty()) line += fmt::format("; median {} to a catch", count_of(needed[needed.size() / 2], "execution"));
  if (!report.references.empty())
    line += fmt::format("; the right system accused in {} of {} scenarios", accused, report.references.size());
  return paint(line, is_good(report) ? Paint::good : Paint::bad, style) + fmt::format("; {:.0f} s\n", report.seconds);
}

bool is_good(const SelfcheckReport& report) {
  return std::all_of(report.defects.begin(), report.defects.end(),
                     [](const DefectReport& defect) {
                       return defect.noticed == Noticed::caught || defect.noticed == Noticed::by_plan ||
                              defect.noticed == Noticed::allowed;
                     }) &&
         std::all_of(report.references.begin(), report.references.end(),
                     [](const ReferenceReport& reference) { return reference.accused.empty(); });
}

}  // namespace halfsent
