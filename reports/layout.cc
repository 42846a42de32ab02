#include "reports/layout.h"

#include <fmt/format.h>

#include <algorithm>

namespace halfsent {
namespace {

bool begins_code_point(char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }

std::string_view sequence(Paint how) {
  switch (how) {
    case Paint::bad:
      return "\x1b[1;31m";
    case Paint::good:
      return "\x1b[32m";
    case Paint::warn:
      return "\x1b[33m";
    case Paint::dim:
      return "\x1b[2m";
    case Paint::bold:
      return "\x1b[1m";
    case Paint::plain:
      break;
  }
  return "";
}

}  // namespace

std::string paint(std::string_view text, Paint how, const Style& style) {
  if (!style.colour || how == Paint::plain || text.empty()) return std::string(text);
  return fmt::format("{}{}\x1b[0m", sequence(how), text);
}

std::size_t display_width(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), begins_code_point));
}

std::string cut(std::string_view text, std::size_t width) {
  if (width == 0 || display_width(text) <= width) return std::string(text);
  std::size_t end = 0;
  for (std::size_t columns = 0; end < text.size(); ++end) {
    if (begins_code_point(text[end]) && ++columns == width) break;
  }
  return std::string(text.substr(0, end)) + "…";
}

std::string pad(std::string_view text, std::size_t width) {
  std::string padded(text);
  const std::size_t now = display_width(text);
  if (now < width) padded.append(width - now, ' ');
  return padded;
}

std::string table(const std::vector<std::vector<Cell>>& rows, std::size_t flexible, const Style& style) {
  constexpr std::size_t least = 12;
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()), 0);
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], display_width(row[i].text));
  }
  std::size_t total = 0;
  for (const std::size_t width : widths) total += width + 2;
  const std::size_t limit = style.width > 0 ? static_cast<std::size_t>(style.width) + 2 : total;
  if (total > limit && flexible < widths.size()) {
    const std::size_t over = total - limit;
    widths[flexible] = std::max(std::min(least, widths[flexible]), widths[flexible] - std::min(over, widths[flexible]));
  }
  std::string out;
  for (const auto& row : rows) {
    std::string line;
    std::size_t spaces = 0;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string text = cut(row[i].text, widths[i]);
      if (!text.empty()) {
        line.append(spaces, ' ');
        line += paint(text, row[i].how, style);
        spaces = 0;
      }
      spaces += widths[i] - display_width(text) + 2;
    }
    out += line + "\n";
  }
  return out;
}

std::string seconds(Nanoseconds at) {
  const auto milliseconds = std::max<std::int64_t>(at.count(), 0) / 1'000'000;
  return fmt::format("{}.{:03} s", milliseconds / 1000, milliseconds % 1000);
}

std::string count_of(int count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

}  // namespace halfsent
