#include "harness/cli/init_trial.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <charconv>
#include <regex>

#include "harness/core/plan.h"
#include "harness/world/execution.h"
#include "harness/world/ledger_probe_sqlite_files.h"

namespace halfsent::init {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

std::string row_key(const Table& table) {
  if (!table.rowid.empty()) return table.rowid;
  std::string parts;
  for (const Column& column : table.columns)
    if (column.primary_key > 0) parts += fmt::format(", quote({})", sql_name(column.name));
  return "json_array(" + parts.substr(2) + ")";
}

template <class T>
void add_once(std::vector<T>& values, const T& value) {
  if (std::ranges::find(values, value) == values.end()) values.push_back(value);
}

}  // namespace

Result<Trial> run_trial(Scenario scenario, const std::string& faults, const fs::path& keep_ledger) {
  Trial trial;
  scenario.downstream.witness = [&trial](const ReceivedRequest& request) { trial.requests.push_back(request); };
  const Result<Plan> plan = parse_plan("scenario " + scenario.name + (faults.empty() ? "" : "; " + faults));
  if (!plan) return plan.error();
  const fs::path ledger = scenario.ledger.path;
  Result<std::unique_ptr<Runner>> runner = Runner::create(std::move(scenario));
  if (!runner) return runner.error();
  Result<Execution> execution = (*runner)->run(*plan);
  if (!execution) return execution.error();
  trial.history = std::move(execution->history);
  if (!execution->output.empty()) trial.output = execution->output.front().text;
  const fs::path left = (*runner)->world_folder() / ledger;
  std::error_code ignored;
  if (!keep_ledger.empty() && fs::is_regular_file(left, ignored)) {
    fs::create_directories(keep_ledger, ignored);
    if (const auto copied = sqlite::DatabaseFiles(left.parent_path(), left.filename()).copy_to(keep_ledger); !copied)
      return copied.error();
  }
  return trial;
}

std::string watch_query(const std::vector<Table>& tables, std::int64_t most_rows) {
  std::string query;
  for (const Table& table : tables) {
    if (table.rows > most_rows || table.columns.empty()) continue;
    std::string values;
    // Long values are compared by their beginning; what matters here is short.
    for (const Column& column : table.columns)
      values += fmt::format(", substr(quote({}), 1, 300)", sql_name(column.name));
    query += fmt::format("{}SELECT json_array({}, {}) AS key, json_array({}) AS state FROM {}",
                         query.empty() ? "" : " UNION ALL ", sql_text(table.name), row_key(table), values.substr(2),
                         sql_name(table.name));
  }
  return query;
}

std::vector<RowStory> stories_of(const History& history) {
  std::vector<RowStory> stories;
  std::map<std::string, std::size_t> index;
  for (const Event& event : history.events) {
    const auto* change = std::get_if<LedgerChanged>(&event.body);
    if (change == nullptr || change->to == JobState::none) continue;
    boost::system::error_code error;
    const json::value key = json::parse(change->key, error);
    const json::value values = error ? json::value() : json::parse(change->raw_state, error);
    if (error || !key.is_array() || key.as_array().size() != 2 || !values.is_array()) continue;
    const auto [found, fresh] = index.emplace(change->key, stories.size());
    if (fresh)
      stories.push_back({.table = std::string(key.as_array()[0].as_string()),
                         .row = json::serialize(key.as_array()[1]),
                         .versions = {}});
    RowVersion version{.at = event.at, .values = {}};
    for (const json::value& value : values.as_array()) version.values.emplace_back(value.as_string());
    stories[found->second].versions.push_back(std::move(version));
  }
  return stories;
}

std::vector<std::uint16_t> foreign_ports(const History& history) {
  std::vector<std::uint16_t> ports;
  for (const Event& event : history.events) {
    const auto* stop = std::get_if<Stopped>(&event.body);
    if (stop == nullptr || stop->call != "connect" || !stop->object.starts_with("port ")) continue;
    unsigned port = 0;
    std::from_chars(stop->object.data() + 5, stop->object.data() + stop->object.size(), port);
    constexpr unsigned dns = 53;  // asked on the way, and no downstream
    if (port > 0 && port <= 65535 && port != dns) add_once(ports, static_cast<std::uint16_t>(port));
  }
  return ports;
}

bool reached_downstream(const History& history) {
  return std::ranges::any_of(history.events, [](const Event& event) {
    const auto* stop = std::get_if<Stopped>(&event.body);
    return stop != nullptr && stop->call == "connect" && stop->object == "downstream";
  });
}

std::optional<int> end_of_worker(const History& history) {
  for (const Event& event : history.events) {
    const auto* ended = std::get_if<Ended>(&event.body);
    if (ended == nullptr || event.process != 0) continue;
    if (ended->how == Ended::How::exited) return ended->code;
    if (ended->how == Ended::How::signalled) return 128 + ended->code;
  }
  return std::nullopt;
}

std::optional<Nanoseconds> time_between_claims(const History& history) {
  std::map<std::string, std::vector<Nanoseconds>> claims;
  for (const Event& event : history.events) {
    const auto* change = std::get_if<LedgerChanged>(&event.body);
    if (change == nullptr || change->to != JobState::leased) continue;
    std::vector<Nanoseconds>& times = claims[change->key];
    times.push_back(event.at);
    // Between the words of one claim (leased, sending) nothing has run out.
    if (times.size() > 1 && times.back() - times.front() > std::chrono::seconds{1}) return times.back() - times.front();
  }
  return std::nullopt;
}

std::vector<std::string> last_words(const History& history) {
  std::vector<std::string> keys;
  std::map<std::string, std::string> last;
  for (const Event& event : history.events) {
    const auto* change = std::get_if<LedgerChanged>(&event.body);
    if (change == nullptr || change->to == JobState::none) continue;
    add_once(keys, change->key);
    last[change->key] = change->raw_state;
  }
  std::vector<std::string> words;
  for (const std::string& key : keys) add_once(words, last[key]);
  return words;
}

std::optional<std::uint16_t> port_in(const std::vector<std::string>& texts) {
  static const std::regex url(R"(https?://(?:127\.\d+\.\d+\.\d+|localhost|0\.0\.0\.0|\[::1\])(?::(\d{1,5}))?(?![\w.]))",
                              std::regex::icase);
  for (const std::string& text : texts) {
    std::smatch match;
    if (!std::regex_search(text, match, url)) continue;
    const int port = match[1].matched ? std::stoi(match[1].str()) : 80;
    if (port > 0 && port <= 65535) return static_cast<std::uint16_t>(port);
  }
  return std::nullopt;
}

}  // namespace halfsent::init
