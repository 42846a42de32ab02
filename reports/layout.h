// Columns, cutting and colours. Private to reports. Texts given here must be printable already.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "reports/terminal.h"

namespace halfsent {

enum class Paint { plain, bad, good, warn, dim, bold };

// `text` between a colour and its reset, or as it is without colours.
std::string paint(std::string_view text, Paint how, const Style& style);

// Code points, each taken as one column wide.
std::size_t display_width(std::string_view text);

// At most `width` columns, the last one "…" where something was cut. 0: no limit.
std::string cut(std::string_view text, std::size_t width);

// `text` with spaces up to `width` columns.
std::string pad(std::string_view text, std::size_t width);

struct Cell {
  std::string text;
  Paint how = Paint::plain;
};

// Columns as wide as their widest cell, two spaces apart. When the table is wider than the style, column `flexible` is
// cut (to no less than 12 columns). No trailing spaces.
std::string table(const std::vector<std::vector<Cell>>& rows, std::size_t flexible, const Style& style);

// "0.004 s": cut to milliseconds.
std::string seconds(Nanoseconds at);

// "1 effect", "2 effects"
std::string count_of(int count, std::string_view noun);

}  // namespace halfsent
