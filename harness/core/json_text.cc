#include "harness/core/json_text.h"

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "harness/core/text.h"

namespace halfsent {
namespace {

namespace json = boost::json;

std::string_view view(json::string_view text) { return {text.data(), text.size()}; }

// NOLINTNEXTLINE(misc-no-recursion): as deep as the value
void append(std::string& out, const json::value& value) {
  if (const json::string* text = value.if_string()) return append_json_string(out, view(*text));
  if (const json::array* array = value.if_array()) {
    out += '[';
    for (const json::value& element : *array) {
      if (out.back() != '[') out += ',';
      append(out, element);
    }
    out += ']';
    return;
  }
  if (const json::object* object = value.if_object()) {
    out += '{';
    for (const json::key_value_pair& member : *object) {
      if (out.back() != '{') out += ',';
      append_json_string(out, view(member.key()));
      out += ':';
      append(out, member.value());
    }
    out += '}';
    return;
  }
  out += json::serialize(value);
}

}  // namespace

std::string json_text(const json::value& value) {
  std::string out;
  append(out, value);
  return out;
}

Result<json::value> parse_json_text(std::string_view text) {
  if (!is_valid_utf8(text)) return Error{.code = ExitCode::usage, .message = "it has bytes that are not UTF-8"};
  json::parse_options options;
  options.allow_invalid_utf8 = true;
  json::error_code error;
  json::value value = json::parse(restore_escaped_bytes(text), error, {}, options);
  if (error) return Error{.code = ExitCode::usage, .message = "it is not JSON: " + error.message()};
  return value;
}

}  // namespace halfsent
