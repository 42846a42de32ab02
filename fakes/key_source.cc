#include "fakes/key_source.h"

#include <boost/beast/core/string.hpp>
#include <boost/json/basic_parser_impl.hpp>
#include <cstdint>
#include <optional>

namespace halfsent {
namespace {

namespace json = boost::json;

constexpr std::string_view placeholder = "{key}";
constexpr std::size_t max_json_depth = 256;

// Follows one member path through a JSON text without building the document: bodies can be large, and a number's own
// text is needed, for a number above 2^64 would lose digits as a double and two keys could become one.
class MemberFinder {
 public:
  static constexpr std::size_t max_object_size = static_cast<std::size_t>(-1);
  static constexpr std::size_t max_array_size = static_cast<std::size_t>(-1);
  static constexpr std::size_t max_key_size = static_cast<std::size_t>(-1);
  static constexpr std::size_t max_string_size = static_cast<std::size_t>(-1);

  explicit MemberFinder(std::string_view path) {
    for (std::size_t begin = 0; begin <= path.size();) {
      const std::size_t end = std::min(path.find('.', begin), path.size());
      names_.emplace_back(path.substr(begin, end - begin));
      begin = end + 1;
    }
  }

  [[nodiscard]] const std::string& found() const { return found_; }

  bool on_document_begin(json::error_code&) { return true; }
  bool on_document_end(json::error_code&) { return true; }

  bool on_object_begin(json::error_code&) {
    ++depth_;
    if (depth_ == 1 || value_is_on_path_) path_depth_ = depth_;
    value_is_on_path_ = false;
    return true;
  }
  bool on_object_end(std::size_t, json::error_code&) {
    if (path_depth_ == depth_) --path_depth_;
    --depth_;
    return true;
  }
  bool on_array_begin(json::error_code&) {
    ++depth_;
    value_is_on_path_ = false;
    return true;
  }
  bool on_array_end(std::size_t, json::error_code&) {
    --depth_;
    return true;
  }

  bool on_key_part(json::string_view part, std::size_t, json::error_code&) {
    key_.append(part.data(), part.size());
    return true;
  }
  bool on_key(json::string_view last, std::size_t, json::error_code&) {
    key_.append(last.data(), last.size());
    value_is_on_path_ = path_depth_ == depth_ && depth_ <= names_.size() && key_ == names_[depth_ - 1];
    // A repeated member replaces the one before it, with all that was below.
    if (value_is_on_path_) found_.clear();
    key_.clear();
    return true;
  }

  bool on_string_part(json::string_view part, std::size_t, json::error_code&) { return text_part(part); }
  bool on_string(json::string_view last, std::size_t, json::error_code&) { return text(last); }
  bool on_number_part(json::string_view part, json::error_code&) { return text_part(part); }
  bool on_int64(std::int64_t, json::string_view last, json::error_code&) { return text(last); }
  bool on_uint64(std::uint64_t, json::string_view last, json::error_code&) { return text(last); }
  bool on_double(double, json::string_view last, json::error_code&) { return text(last); }
  bool on_bool(bool, json::error_code&) { return no_text(); }
  bool on_null(json::error_code&) { return no_text(); }
  bool on_comment_part(json::string_view, json::error_code&) { return true; }
  bool on_comment(json::string_view, json::error_code&) { return true; }

 private:
  [[nodiscard]] bool wanted() const { return value_is_on_path_ && depth_ == names_.size(); }
  bool text_part(json::string_view part) {
    if (wanted()) found_.append(part.data(), part.size());
    return true;
  }
  bool text(json::string_view last) {
    text_part(last);
    return no_text();
  }
  bool no_text() {
    value_is_on_path_ = false;
    return true;
  }

  std::vector<std::string> names_;
  std::string key_;
  std::string found_;
  std::size_t depth_ = 0;       // containers around the current value
  std::size_t path_depth_ = 0;  // how many of the outermost of them are objects along the path
  bool value_is_on_path_ = false;
};

std::string find_in_json(std::string_view path, std::string_view body) {
  if (path.empty() || body.empty()) return {};
  json::parse_options options;
  options.max_depth = max_json_depth;
  json::basic_parser<MemberFinder> parser(options, path);
  json::error_code error;
  const std::size_t used = parser.write_some(false, body.data(), body.size(), error);
  if (error || used != body.size()) return {};
  return parser.handler().found();
}

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// An escape that is none ("%zz") stays as it is: two different paths must not become one key by an error.
std::string percent_decode(std::string_view text) {
  std::string decoded;
  decoded.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size()) {
      const int high = hex_value(text[i + 1]);
      const int low = hex_value(text[i + 2]);
      if (high >= 0 && low >= 0) {
        decoded.push_back(static_cast<char>(high * 16 + low));
        i += 2;
        continue;
      }
    }
    decoded.push_back(text[i]);
  }
  return decoded;
}

std::string find_in_path(std::string_view pattern, std::string_view target) {
  const std::size_t at = pattern.find(placeholder);
  if (at == std::string_view::npos) return {};
  const std::string_view before = pattern.substr(0, at);
  const std::string_view after = pattern.substr(at + placeholder.size());
  std::string_view path = path_of_target(target);
  if (path.size() <= before.size() + after.size()) return {};
  if (!path.starts_with(before) || !path.ends_with(after)) return {};
  path.remove_prefix(before.size());
  path.remove_suffix(after.size());
  if (path.find('/') != std::string_view::npos) return {};
  return percent_decode(path);
}

std::string find_in_header(std::string_view name, const ReceivedRequest& request) {
  for (const HeaderField& field : request.fields) {
    if (boost::beast::iequals(field.name, name)) return field.value;
  }
  return {};
}

}  // namespace

std::string_view path_of_target(std::string_view target) {
  target = target.substr(0, target.find_first_of("?#"));
  if (target.starts_with('/')) return target;
  const std::size_t scheme = target.find("://");
  if (scheme == std::string_view::npos) return target;
  const std::size_t slash = target.find('/', scheme + 3);
  return slash == std::string_view::npos ? std::string_view("/") : target.substr(slash);
}

std::string find_key(const KeySource& source, const ReceivedRequest& request) {
  switch (source.kind) {
    case KeySource::Kind::header:
      return find_in_header(source.where, request);
    case KeySource::Kind::json:
      return find_in_json(source.where, request.body);
    case KeySource::Kind::path:
      return find_in_path(source.where, request.target);
  }
  return {};
}

std::string find_first_key(const std::vector<KeySource>& sources, const ReceivedRequest& request) {
  for (const KeySource& source : sources) {
    std::string found = find_key(source, request);
    if (!found.empty()) return found;
  }
  return {};
}

}  // namespace halfsent
