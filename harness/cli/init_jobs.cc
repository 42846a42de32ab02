#include "harness/cli/init_jobs.h"

#include <fmt/format.h>

#include <algorithm>

#include "harness/cli/init_words.h"

namespace halfsent::init {
namespace {

constexpr int rows_of_a_word = 3;
constexpr std::int64_t most_rows = 10'000;

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

bool is_number(const Column& column) {
  return contains(column.type, "INT") || contains(column.type, "REAL") || contains(column.type, "NUM") ||
         contains(column.type, "DOUB") || contains(column.type, "FLOA");
}

bool is_time(const Column& column) {
  return column.name.ends_with("_at") || contains(column.name, "time") || contains(column.name, "date") ||
         contains(column.name, "due");
}

bool must_have_value(const Column& column) {
  if (column.generated || column.rowid || !column.default_sql.empty()) return false;
  return column.not_null || column.unique || usual_role(column) == ColumnRole::state;
}

std::string made_up_value(const Column& column, int n) {
  if (!column.parent_table.empty()) {
    const std::string parent = column.parent_column.empty() ? "rowid" : sql_name(column.parent_column);
    return fmt::format("(SELECT {} FROM {} LIMIT 1)", parent, sql_name(column.parent_table));
  }
  if (!column.allowed.empty()) return sql_text(column.allowed.front());
  if (usual_role(column) == ColumnRole::state) return is_number(column) ? "0" : "'pending'";
  if (is_time(column) && !column.unique) return contains(column.type, "TEXT") ? "'1970-01-01 00:00:00'" : "0";
  const bool counts = usual_role(column).has_value();  // attempts, a token
  if (is_number(column)) return std::to_string(column.unique ? n : counts ? 0 : n);
  const bool address = contains(column.name, "mail") || contains(column.name, "recipient");
  if (address && !column.unique) return fmt::format("'{}-{}@example.com'", column.name, n);
  if (contains(column.name, "json") || contains(column.name, "payload")) return "'{}'";
  return sql_text(fmt::format("{}-{}", column.name, n));
}

}  // namespace

std::string made_up_jobs(const Table& table) {
  std::string text;
  for (int n = 1; n <= jobs_wanted; ++n) {
    std::string names;
    std::string values;
    for (const Column& column : table.columns) {
      if (!must_have_value(column)) continue;
      names += (names.empty() ? "" : ", ") + sql_name(column.name);
      values += (values.empty() ? "" : ", ") + made_up_value(column, n);
    }
    text += names.empty() ? fmt::format("INSERT INTO {} DEFAULT VALUES;\n", sql_name(table.name))
                          : fmt::format("INSERT INTO {} ({}) VALUES ({});\n", sql_name(table.name), names, values);
  }
  return text;
}

std::string sample(const Table& table, const Column* state) {
  if (state == nullptr) return table.rows > most_rows ? fmt::format("LIMIT {}", most_rows) : "";
  if (table.rowid.empty()) return fmt::format("LIMIT {}", 10 * rows_of_a_word);
  return fmt::format(
      "WHERE {0} IN (SELECT id FROM (SELECT {0} AS id, row_number() OVER (PARTITION BY {1} ORDER BY {0}) AS n,"
      " dense_rank() OVER (ORDER BY {1}) AS word FROM {2}) WHERE n <= {3} AND word <= 20)",
      table.rowid, sql_name(state->name), sql_name(table.name), rows_of_a_word);
}

std::string jobs_to_keep(const Table& table, const LedgerGuess& guess, const std::vector<RowStory>& stories) {
  std::string moved;
  int count = 0;
  const auto key = std::ranges::find(table.columns, guess.key_column, &Column::name);
  const auto state = std::ranges::find(table.columns, guess.state_column, &Column::name);
  for (const RowStory& story : stories) {
    if (story.table != table.name || story.versions.size() < 2 || key == table.columns.end() || count == jobs_wanted)
      continue;
    const std::vector<std::string>& values = story.versions.front().values;
    const std::string word = state == table.columns.end()
                                 ? std::string()
                                 : plain(values[static_cast<std::size_t>(state - table.columns.begin())]);
    if (!guess.state_column.empty() && std::ranges::find(guess.pending, word) == guess.pending.end()) continue;
    moved += (count++ == 0 ? "" : ", ") + values[static_cast<std::size_t>(key - table.columns.begin())];
  }
  if (count > 0)
    return fmt::format("WHERE {} IN ({}) ORDER BY {}", sql_name(guess.key_column), moved,
                       table.rowid.empty() ? sql_name(guess.key_column) : table.rowid);
  if (guess.state_sql.empty() || guess.pending.empty()) return {};
  std::string words;
  for (const std::string& word : guess.pending) words += (words.empty() ? "" : ", ") + sql_text(word);
  const std::string nothing = std::ranges::find(guess.pending, "NULL") == guess.pending.end()
                                  ? ""
                                  : fmt::format(" OR {} IS NULL", guess.state_sql);
  return fmt::format("WHERE CAST({} AS TEXT) IN ({}){} ORDER BY {} LIMIT {}", guess.state_sql, words, nothing,
                     guess.key_sql, jobs_wanted);
}

}  // namespace halfsent::init
