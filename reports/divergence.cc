#include "reports/divergence.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "harness/core/text.h"
#include "reports/layout.h"

namespace halfsent {
namespace {

constexpr std::size_t before = 4;
constexpr std::size_t after = 4;
constexpr std::size_t widest = 70;  // of one side, where no width is known

// What an event says on disk but for its number, which stands before the line.
std::string text_of(const History& history, std::size_t i) {
  if (i >= history.events.size()) return i == history.events.size() ? "(the end)" : "";
  const std::string line = to_json_line(history.events[i]);
  const std::size_t comma = line.find(',');
  return "{" + line.substr(comma + 1);
}

}  // namespace

std::string divergence(const History& first, const History& second, const Style& style) {
  std::size_t at = 0;
  while (at < first.events.size() && at < second.events.size() && first.events[at] == second.events[at]) ++at;
  if (at == first.events.size() && at == second.events.size()) return "the two histories are equal\n";
  const std::size_t side = style.width <= 0 ? widest : static_cast<std::size_t>(std::max(30, (style.width - 12) / 2));
  std::vector<std::vector<Cell>> rows = {{{"event", Paint::bold}, {"first", Paint::bold}, {"second", Paint::bold}}};
  const std::size_t end = std::min(at + after + 1, std::max(first.events.size(), second.events.size()) + 1);
  for (std::size_t i = at - std::min(at, before); i < end; ++i) {
    const bool differs = text_of(first, i) != text_of(second, i);
    rows.push_back({{fmt::format("{}{}", i == at ? "> " : "  ", i)},
                    {cut(printable(text_of(first, i)), side), differs ? Paint::bad : Paint::plain},
                    {cut(printable(text_of(second, i)), side), differs ? Paint::bad : Paint::plain}});
  }
  return table(rows, 0, {.colour = style.colour, .width = 0}) +
         fmt::format("first   {}\nsecond  {}\n", printable(text_of(first, at)), printable(text_of(second, at)));
}

}  // namespace halfsent
