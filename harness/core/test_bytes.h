// Generated strings that hold what breaks text formats. For tests only.
#pragma once

#include <rapidcheck.h>

#include <string>
#include <vector>

namespace halfsent {

// Any bytes, with what is special to JSON, UTF-8, plans and terminals much more often than by chance.
inline rc::Gen<std::string> any_bytes() {
  using namespace std::string_literals;
  const auto byte = rc::gen::map(rc::gen::inRange(0, 256), [](int value) { return std::string(1, char(value)); });
  const auto special = rc::gen::element(
      "\0"s, "\""s, "\\"s, "\n"s, "\r"s, "\x1b[31m"s, "\x7f"s, ";"s, "#"s, " "s, "for"s, "at"s, "\\udc80"s, "\\u"s,
      "\xe2\x82\xac"s /* euro */, "\xf0\x9f\x98\x80"s /* beyond the BMP */, "\xed\xb2\x80"s /* an encoded surrogate */,
      "\xc3"s /* cut short */, "\xa9"s /* tail only */, "\xc0\xaf"s /* overlong */, "\xf4\x90\x80\x80"s /* too large */,
      "\xc2\x85"s /* C1 */, "\xe2\x80\xae"s /* right-to-left override */, "4187:2026-W33"s);
  const auto piece = rc::gen::oneOf(byte, special, special);
  return rc::gen::map(rc::gen::container<std::vector<std::string>>(piece), [](const std::vector<std::string>& pieces) {
    std::string out;
    for (const std::string& one : pieces) out += one;
    return out;
  });
}

}  // namespace halfsent
