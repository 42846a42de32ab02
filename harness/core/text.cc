#include "harness/core/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/parse.hpp>
#include <boost/json/string.hpp>
#include <boost/json/value.hpp>
#include <boost/locale/utf.hpp>
#include <charconv>
#include <iterator>
#include <optional>

namespace halfsent {
namespace {

namespace utf = boost::locale::utf;
using Utf8 = utf::utf_traits<char>;

struct CodePoint {
  utf::code_point value;  // utf::illegal where the first byte begins no valid sequence; then `length` is 1
  std::size_t length;
};

CodePoint first_code_point(std::string_view bytes) {
  const char* position = bytes.data();
  const char* const end = position + bytes.size();
  const utf::code_point value = Utf8::decode(position, end);
  if (value == utf::illegal || value == utf::incomplete) return {utf::illegal, 1};
  return {value, static_cast<std::size_t>(position - bytes.data())};
}

// What changes how a terminal shows the rest: controls, separators of lines, direction, and invisible marks.
bool is_hazard(utf::code_point c) {
  return c < 0x20 || (c >= 0x7f && c <= 0x9f) || (c >= 0x200b && c <= 0x200f) || (c >= 0x2028 && c <= 0x202e) ||
         (c >= 0x2060 && c <= 0x206f) || c == 0x061c || c == 0xfeff;
}

bool is_plain_ascii(char c) { return c >= 0x20 && c < 0x7f; }

// The value of "\uXXXX" at the front of `json`, or nothing.
std::optional<unsigned> unicode_escape(std::string_view json) {
  if (json.size() < 6 || json[0] != '\\' || json[1] != 'u') return std::nullopt;
  unsigned value = 0;
  const auto [end, error] = std::from_chars(json.data() + 2, json.data() + 6, value, 16);
  if (error != std::errc{} || end != json.data() + 6) return std::nullopt;
  return value;
}

bool is_high_surrogate(unsigned c) { return c >= 0xd800 && c <= 0xdbff; }
bool is_low_surrogate(unsigned c) { return c >= 0xdc00 && c <= 0xdfff; }

Error bad_json_string(std::string why) {
  return Error{.code = ExitCode::usage,
               .message = "not a JSON string: " + std::move(why),
               .mend = "write \\\" for a quote, \\n for a new line and \\udcXX for a byte XX that is not UTF-8"};
}

}  // namespace

void append_json_string(std::string& out, std::string_view bytes) {
  out += '"';
  while (!bytes.empty()) {
    std::size_t plain = 0;
    while (plain < bytes.size() && is_plain_ascii(bytes[plain]) && bytes[plain] != '"' && bytes[plain] != '\\') ++plain;
    out += bytes.substr(0, plain);
    bytes.remove_prefix(plain);
    if (bytes.empty()) break;
    const char c = bytes.front();
    const CodePoint code_point = first_code_point(bytes);
    if (c == '"' || c == '\\') {
      (out += '\\') += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (code_point.value == utf::illegal) {
      fmt::format_to(std::back_inserter(out), "\\udc{:02x}", static_cast<unsigned char>(c));
    } else if (is_hazard(code_point.value)) {
      fmt::format_to(std::back_inserter(out), "\\u{:04x}", code_point.value);
    } else {
      out += bytes.substr(0, code_point.length);
    }
    bytes.remove_prefix(code_point.length);
  }
  out += '"';
}

std::string restore_escaped_bytes(std::string_view json) {
  std::string out;
  out.reserve(json.size());
  while (!json.empty()) {
    const std::size_t backslash = std::min(json.find('\\'), json.size());
    out += json.substr(0, backslash);
    json.remove_prefix(backslash);
    if (json.empty()) break;
    std::size_t taken = std::min<std::size_t>(2, json.size());
    if (const auto escape = unicode_escape(json)) {
      taken = 6;
      if (*escape >= 0xdc80 && *escape <= 0xdcff) {
        out += static_cast<char>(*escape & 0xff);
        json.remove_prefix(taken);
        continue;
      }
      const auto second = unicode_escape(json.substr(6));
      if (is_high_surrogate(*escape) && second && is_low_surrogate(*second)) taken = 12;
    }
    out += json.substr(0, taken);
    json.remove_prefix(taken);
  }
  return out;
}

bool is_valid_utf8(std::string_view bytes) {
  while (!bytes.empty()) {
    if (is_plain_ascii(bytes.front())) {
      bytes.remove_prefix(1);
      continue;
    }
    const CodePoint code_point = first_code_point(bytes);
    if (code_point.value == utf::illegal) return false;
    bytes.remove_prefix(code_point.length);
  }
  return true;
}

Result<std::string> parse_json_string(std::string_view json) {
  if (!is_valid_utf8(json)) return bad_json_string("it has bytes that are not UTF-8");
  boost::json::parse_options options;
  options.allow_invalid_utf8 = true;
  boost::json::error_code error;
  const boost::json::value value = boost::json::parse(restore_escaped_bytes(json), error, {}, options);
  if (error) return bad_json_string(error.message());
  if (!value.is_string()) return bad_json_string("it is another kind of value");
  const boost::json::string& string = value.get_string();
  return std::string(string.data(), string.size());
}

std::string printable(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size());
  while (!bytes.empty()) {
    const char c = bytes.front();
    const CodePoint code_point = first_code_point(bytes);
    if (c == '\n' || c == '\t' || c == '\r') {
      (out += '\\') += (c == '\n' ? 'n' : c == '\t' ? 't' : 'r');
    } else if (code_point.value == utf::illegal || (code_point.length == 1 && is_hazard(code_point.value))) {
      fmt::format_to(std::back_inserter(out), "\\x{:02x}", static_cast<unsigned char>(c));
    } else if (is_hazard(code_point.value)) {
      fmt::format_to(std::back_inserter(out), "\\u{{{:04x}}}", code_point.value);
    } else {
      out += bytes.substr(0, code_point.length);
    }
    bytes.remove_prefix(code_point.length);
  }
  return out;
}

std::string replace_all(std::string text, std::string_view what, std::string_view with) {
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + with.size())) {
    text.replace(at, what.size(), with);
  }
  return text;
}

}  // namespace halfsent
