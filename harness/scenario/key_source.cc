#include <fmt/format.h>

#include <algorithm>

#include "harness/scenario/schema.h"

namespace halfsent {
namespace {

constexpr std::string_view token_extra = "!#$%&'*+-.^_`|~";  // of HTTP, beside letters and digits

bool is_http_token(std::string_view word) {
  return !word.empty() && std::all_of(word.begin(), word.end(), [](char c) {
    const bool alphanumeric = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    return alphanumeric || token_extra.find(c) != std::string_view::npos;
  });
}

// What is wrong with `where`, or empty.
std::string_view bad_where(KeySource::Kind kind, std::string_view where) {
  switch (kind) {
    case KeySource::Kind::header:
      return is_http_token(where) ? "" : "a header's name has letters, digits and -";
    case KeySource::Kind::json: {
      const bool empty_member =
          where.empty() || where.front() == '.' || where.back() == '.' || where.find("..") != std::string_view::npos;
      return empty_member ? R"(name the member, with dots for members of members: "json job.digest_key")" : "";
    }
    case KeySource::Kind::path: {
      const auto first = where.find("{key}");
      const bool once = first != std::string_view::npos && where.find("{key}", first + 1) == std::string_view::npos;
      return where.starts_with('/') && once ? "" : R"(the path begins with / and has {key} once: "path /send/{key}")";
    }
  }
  return "";
}

}  // namespace

std::optional<KeySource> read_key_source(Draft& draft, std::string_view what, const Text& text) {
  const auto space = text.value.find(' ');
  const Text kind_word{text.value.substr(0, space), text.at};
  const auto kind = pick<KeySource::Kind>(
      draft, what, kind_word,
      {{"header", KeySource::Kind::header}, {"json", KeySource::Kind::json}, {"path", KeySource::Kind::path}});
  if (!kind) return std::nullopt;
  const auto start = space == std::string::npos ? space : text.value.find_first_not_of(' ', space);
  std::string where = start == std::string::npos ? "" : text.value.substr(start);
  if (const std::string_view why = bad_where(*kind, where); !why.empty()) {
    draft.fail(text.at, fmt::format("{} {} does not say where the key is", what, shown(text.value)), std::string(why));
    return std::nullopt;
  }
  return KeySource{*kind, std::move(where)};
}

}  // namespace halfsent
