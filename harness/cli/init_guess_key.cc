// Where requests carry the key: a column's values are looked for in each place of each request.
#include <algorithm>
#include <boost/beast/core/string.hpp>
#include <boost/json.hpp>
#include <set>

#include "fakes/key_source.h"
#include "harness/cli/init_guess.h"
#include "harness/cli/init_words.h"

namespace halfsent::init {
namespace {

namespace json = boost::json;

// Headers of every request, whose values are no key though they may be equal to one ("1").
bool is_common(const std::string& header) {
  static constexpr const char* names[] = {
      "host",       "user-agent",     "accept",       "accept-encoding",   "accept-language",
      "connection", "content-length", "content-type", "transfer-encoding", "authorization",
      "date",       "expect",         "cookie"};
  return std::ranges::any_of(names, [&](const char* name) { return boost::beast::iequals(header, name); });
}

void add_members(const json::value& value, const std::string& path, std::vector<KeySource>& places) {
  const json::object* object = value.if_object();
  if (object == nullptr) return;
  for (const auto& [name, member] : *object) {
    const std::string key(name);
    if (key.empty() || key.find('.') != std::string::npos) continue;  // a path cannot name it
    const std::string here = path.empty() ? key : path + "." + key;
    if (member.is_object()) {
      add_members(member, here, places);
    } else if (member.is_string() || member.is_number()) {
      places.push_back({.kind = KeySource::Kind::json, .where = here});
    }
  }
}

void add_segments(const std::string& target, std::vector<KeySource>& places) {
  const std::string path(path_of_target(target));
  for (std::size_t slash = path.find('/'); slash != std::string::npos; slash = path.find('/', slash + 1)) {
    const std::size_t end = std::min(path.find('/', slash + 1), path.size());
    if (end == slash + 1) continue;
    std::string pattern = path;
    pattern.replace(slash + 1, end - slash - 1, "{key}");
    places.push_back({.kind = KeySource::Kind::path, .where = pattern});
  }
}

// Every place of the request where something stands, headers first.
std::vector<KeySource> places_of(const ReceivedRequest& request) {
  std::vector<KeySource> places;
  for (const HeaderField& field : request.fields)
    if (!is_common(field.name)) places.push_back({.kind = KeySource::Kind::header, .where = field.name});
  boost::system::error_code error;
  const json::value body = json::parse(request.body, error);
  if (!error) add_members(body, "", places);
  add_segments(request.target, places);
  return places;
}

bool is_idempotent(const KeySource& source) {
  if (source.kind == KeySource::Kind::path) return false;
  const std::size_t dot = source.where.rfind('.');
  return sounds_like_idempotency_key(dot == std::string::npos ? source.where : source.where.substr(dot + 1));
}

// By place, the rows whose value in this column some request carries there.
std::vector<std::pair<KeySource, std::set<std::string>>> finds(const std::map<std::string, std::string>& row_of,
                                                               const std::vector<ReceivedRequest>& requests) {
  std::vector<std::pair<KeySource, std::set<std::string>>> found;
  for (const ReceivedRequest& request : requests) {
    for (const KeySource& place : places_of(request)) {
      const auto row = row_of.find(find_key(place, request));
      if (row == row_of.end()) continue;
      auto entry = std::ranges::find_if(found, [&](const auto& one) { return one.first == place; });
      if (entry == found.end()) entry = found.insert(found.end(), {place, {}});
      entry->second.insert(row->second);
    }
  }
  return found;
}

// The rows by their value in a column. A value that two rows share tells nothing.
std::map<std::string, std::string> rows_by_value(const std::vector<RowStory>& stories, const std::string& table,
                                                 std::size_t column) {
  std::map<std::string, std::string> rows;
  std::set<std::string> shared;
  for (const RowStory& story : stories) {
    if (story.table != table || story.versions.empty() || column >= story.versions.front().values.size()) continue;
    const std::string value = plain(story.versions.front().values[column]);
    if (value.empty() || value == "NULL") continue;
    if (!rows.emplace(value, story.row).second) shared.insert(value);
  }
  for (const std::string& value : shared) rows.erase(value);
  return rows;
}

// A path with the key in it is itself the idempotency key where the method says so.
bool all_put(const std::vector<ReceivedRequest>& requests) {
  return std::ranges::all_of(requests, [](const ReceivedRequest& request) { return request.method == "PUT"; });
}

}  // namespace

std::string to_text(const KeySource& source) {
  const char* kind = source.kind == KeySource::Kind::header ? "header "
                     : source.kind == KeySource::Kind::json ? "json "
                                                            : "path ";
  return kind + source.where;
}

KeyGuess guess_key(const Table& table, const std::vector<RowStory>& stories,
                   const std::vector<ReceivedRequest>& requests) {
  KeyGuess guess;
  std::vector<std::pair<KeySource, std::set<std::string>>> best;
  std::size_t most = 0;
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    if (!table.columns[i].unique) continue;
    auto found = finds(rows_by_value(stories, table.name, i), requests);
    std::size_t rows = 0;
    for (const auto& [place, of_place] : found) rows = std::max(rows, of_place.size());
    if (rows <= most) continue;
    most = rows;
    best = std::move(found);
    guess.key_column = table.columns[i].name;
  }
  // By its name a header is the key whatever it holds: it may be made of the job's key, or be a bad one.
  for (const ReceivedRequest& request : requests)
    for (const KeySource& place : places_of(request))
      if (!guess.key && is_idempotent(place)) guess.key = place;
  std::erase_if(best, [&](const auto& one) { return one.second.size() < most; });
  for (const auto& [place, rows] : best) {
    const bool header = place.kind == KeySource::Kind::header;
    const bool put = place.kind == KeySource::Kind::path && all_put(requests);
    if (!guess.key && (header || put)) guess.key = place;
    if (guess.key != place) guess.job.push_back(place);
  }
  return guess;
}

}  // namespace halfsent::init
