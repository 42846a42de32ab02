#include "harness/cli/init_schema.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/format.h>
#include <sqlite3.h>
#include <strings.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <optional>
#include <set>

#include "harness/core/text.h"
#include "harness/world/ledger_probe_sqlite_files.h"

namespace halfsent::init {
namespace {

namespace fs = std::filesystem;

bool same_name(std::string_view a, std::string_view b) {
  return a.size() == b.size() && strncasecmp(a.data(), b.data(), a.size()) == 0;
}

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

std::string upper(std::string text) {
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

std::size_t skip_space(std::string_view text, std::size_t at) {
  while (at < text.size() && std::isspace(static_cast<unsigned char>(text[at])) != 0) ++at;
  return at;
}

// The literals of "('a', 2)" at `at`, or nothing when it is no such list.
std::vector<std::string> literals(std::string_view sql, std::size_t at) {
  std::vector<std::string> words;
  if (at >= sql.size() || sql[at] != '(') return {};
  for (++at; at < sql.size(); ++at) {
    at = skip_space(sql, at);
    if (at >= sql.size()) return {};
    std::string word;
    if (sql[at] == '\'') {
      for (++at; at < sql.size(); ++at) {
        if (sql[at] == '\'' && (at + 1 >= sql.size() || sql[at + 1] != '\'')) break;
        if (sql[at] == '\'') ++at;
        word += sql[at];
      }
      ++at;
    } else {
      while (at < sql.size() && (is_word(sql[at]) || sql[at] == '-')) word += sql[at++];
    }
    words.push_back(word);
    at = skip_space(sql, at);
    if (at < sql.size() && sql[at] == ')') return words;
    if (at >= sql.size() || sql[at] != ',') return {};
  }
  return {};
}

std::set<std::string> unique_columns(SQLite::Database& database, const std::string& table) {
  std::set<std::string> names;
  SQLite::Statement indices(database, R"(SELECT name FROM pragma_index_list(?) WHERE "unique" = 1 AND partial = 0)");
  indices.bind(1, table);
  while (indices.executeStep()) {
    SQLite::Statement columns(database, "SELECT name FROM pragma_index_info(?)");
    columns.bind(1, indices.getColumn(0).getString());
    std::vector<std::string> of_index;
    while (columns.executeStep()) of_index.push_back(columns.getColumn(0).getString());
    if (of_index.size() == 1) names.insert(of_index.front());
  }
  return names;
}

void read_parents(SQLite::Database& database, Table& table) {
  SQLite::Statement keys(database, R"(SELECT "from", "table", coalesce("to", '') FROM pragma_foreign_key_list(?))");
  keys.bind(1, table.name);
  while (keys.executeStep()) {
    for (Column& column : table.columns) {
      if (!same_name(column.name, keys.getColumn(0).getString())) continue;
      column.parent_table = keys.getColumn(1).getString();
      column.parent_column = keys.getColumn(2).getString();
    }
  }
}

Table read_table(SQLite::Database& database, const std::string& name, const std::string& sql, bool without_rowid) {
  Table table{.name = name, .columns = {}};
  const std::set<std::string> unique = unique_columns(database, name);
  SQLite::Statement info(database, "SELECT name, type, \"notnull\", dflt_value, pk, hidden FROM pragma_table_xinfo(?)");
  info.bind(1, name);
  int keys = 0;
  while (info.executeStep()) {
    Column column{.name = info.getColumn(0).getString(), .type = upper(info.getColumn(1).getString())};
    column.primary_key = info.getColumn(4).getInt();
    column.not_null = info.getColumn(2).getInt() != 0 || column.primary_key > 0;
    if (!info.getColumn(3).isNull()) column.default_sql = info.getColumn(3).getString();
    column.generated = info.getColumn(5).getInt() >= 2;
    column.unique = unique.contains(column.name);
    column.allowed = check_words(sql, column.name);
    keys += column.primary_key > 0 ? 1 : 0;
    table.columns.push_back(std::move(column));
  }
  for (Column& column : table.columns) {
    if (column.primary_key == 0 || keys != 1) continue;
    column.unique = true;
    column.rowid = column.type == "INTEGER" && !without_rowid;
  }
  read_parents(database, table);
  table.rowid.clear();
  for (const char* alias : {"rowid", "oid", "_rowid_"}) {
    const bool taken =
        std::ranges::any_of(table.columns, [&](const Column& column) { return same_name(column.name, alias); });
    if (!without_rowid && !taken && table.rowid.empty()) table.rowid = alias;
  }
  table.rows = database.execAndGet("SELECT count(*) FROM " + sql_name(name)).getInt64();
  return table;
}

std::string literal(const SQLite::Column& value) {
  if (value.isNull()) return "NULL";
  if (value.isInteger()) return std::to_string(value.getInt64());
  if (value.isFloat()) {
    const double number = value.getDouble();
    if (std::isinf(number)) return number > 0 ? "9e999" : "-9e999";
    const std::string text = fmt::format("{}", number);
    return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
  }
  // Through the text, as it is UTF-8 whatever the database's encoding.
  const auto* data = value.isBlob() ? static_cast<const char*>(value.getBlob()) : value.getText();
  const std::string bytes(data == nullptr ? "" : data,
                          data == nullptr ? 0 : static_cast<std::size_t>(value.getBytes()));
  if (!value.isBlob()) return sql_text(bytes);
  std::string hex;
  for (const char c : bytes) hex += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return "x'" + hex + "'";
}

std::string joined_names(const Table& table) {
  std::string names;
  for (const Column& column : table.columns)
    if (!column.generated) names += (names.empty() ? "" : ", ") + sql_name(column.name);
  return names;
}

std::string rows_as_sql(SQLite::Database& database, const Table& table, const std::string& suffix) {
  const std::string names = joined_names(table);
  SQLite::Statement query(database, fmt::format("SELECT {} FROM {} {}", names, sql_name(table.name), suffix));
  std::string text;
  while (query.executeStep()) {
    std::string values;
    for (int i = 0; i < query.getColumnCount(); ++i) values += (i == 0 ? "" : ", ") + literal(query.getColumn(i));
    text += fmt::format("INSERT INTO {} ({}) VALUES ({});\n", sql_name(table.name), names, values);
  }
  return text;
}

Error sqlite_error(const SQLite::Exception& exception) {
  return {.code = ExitCode::usage,
          .message = fmt::format("the ledger cannot be read: {}", printable(exception.what())),
          .mend = "give an SQLite database with --ledger; an encrypted or damaged one cannot be read"};
}

std::string settings(SQLite::Database& database) {
  std::string text;
  const std::string encoding = database.execAndGet("PRAGMA encoding").getString();
  if (encoding != "UTF-8") text += fmt::format("PRAGMA encoding = '{}';\n", encoding);
  for (const char* name : {"user_version", "application_id"}) {
    const std::int64_t value = database.execAndGet(std::string("PRAGMA ") + name).getInt64();
    if (value != 0) text += fmt::format("PRAGMA {} = {};\n", name, value);
  }
  if (database.execAndGet("PRAGMA journal_mode").getString() == "wal") text += "PRAGMA journal_mode = WAL;\n";
  return text;
}

}  // namespace

std::string sql_name(std::string_view name) {
  const bool plain = !name.empty() && std::isdigit(static_cast<unsigned char>(name.front())) == 0 &&
                     std::ranges::all_of(name, is_word) &&
                     sqlite3_keyword_check(name.data(), static_cast<int>(name.size())) == 0;
  if (plain) return std::string(name);
  std::string quoted = "\"";
  for (const char c : name) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + "\"";
}

std::string sql_text(std::string_view bytes) {
  if (!is_valid_utf8(bytes) || bytes.find('\0') != std::string_view::npos) {
    std::string hex;
    for (const char c : bytes) hex += fmt::format("{:02x}", static_cast<unsigned char>(c));
    return "CAST(x'" + hex + "' AS TEXT)";
  }
  std::string quoted = "'";
  for (const char c : bytes) quoted += c == '\'' ? "''" : std::string(1, c);
  return quoted + "'";
}

std::vector<std::string> check_words(std::string_view create_table, std::string_view column) {
  for (std::size_t at = 0; at + column.size() < create_table.size(); ++at) {
    if (!same_name(create_table.substr(at, column.size()), column)) continue;
    std::size_t after = at + column.size();
    if ((at > 0 && is_word(create_table[at - 1])) || is_word(create_table[after])) continue;
    if (std::string_view("\"`]").find(create_table[after]) != std::string_view::npos) ++after;
    after = skip_space(create_table, after);
    if (!same_name(create_table.substr(after, 2), "IN")) continue;
    std::vector<std::string> words = literals(create_table, skip_space(create_table, after + 2));
    if (!words.empty()) return words;
  }
  return {};
}

std::vector<Table> read_tables(SQLite::Database& database) {
  std::vector<Table> tables;
  SQLite::Statement list(database,
                         "SELECT s.name, s.sql, l.wr FROM sqlite_schema s JOIN pragma_table_list l ON l.name = s.name"
                         " WHERE s.type = 'table' AND l.type = 'table' AND l.schema = 'main'"
                         " AND s.name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY s.name");
  while (list.executeStep())
    tables.push_back(read_table(database, list.getColumn(0).getString(), list.getColumn(1).getString(),
                                list.getColumn(2).getInt() != 0));
  return tables;
}

Result<LedgerCopy> LedgerCopy::make(const fs::path& ledger, const fs::path& folder) {
  std::error_code ignored;
  fs::create_directories(folder, ignored);
  const auto copied = sqlite::DatabaseFiles(fs::absolute(ledger).parent_path(), ledger.filename()).copy_to(folder);
  if (!copied) return copied.error();
  try {
    // What a transaction in flight left is taken back or in by opening it once: it is our copy.
    SQLite::Database(copied->string(), SQLite::OPEN_READWRITE).execAndGet("SELECT count(*) FROM sqlite_schema");
    LedgerCopy copy;
    copy.database_ = std::make_unique<SQLite::Database>(copied->string(), SQLite::OPEN_READONLY);
    copy.tables_ = read_tables(*copy.database_);
    return copy;
  } catch (const SQLite::Exception& exception) {
    return sqlite_error(exception);
  }
}

Result<std::string> dump_rows(const LedgerCopy& ledger, const Table& table, const std::string& suffix) {
  try {
    return rows_as_sql(ledger.database(), table, suffix);
  } catch (const SQLite::Exception& exception) {
    return sqlite_error(exception);
  }
}

Result<std::string> dump(const LedgerCopy& ledger, const std::map<std::string, std::string>& suffix) {
  try {
    SQLite::Database& database = ledger.database();
    std::string text = settings(database);
    const auto add = [&](const std::string& types) {
      SQLite::Statement objects(database, "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL AND type IN (" + types +
                                              ") AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY rowid");
      while (objects.executeStep()) text += objects.getColumn(0).getString() + ";\n";
    };
    SQLite::Statement tables(database,
                             "SELECT s.sql FROM sqlite_schema s JOIN pragma_table_list l ON l.name = s.name WHERE"
                             " s.type = 'table' AND l.schema = 'main' AND l.type IN ('table', 'virtual')"
                             " AND s.name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY s.rowid");
    while (tables.executeStep()) text += tables.getColumn(0).getString() + ";\n";
    for (const Table& table : ledger.tables()) {
      const auto kept = suffix.find(table.name);
      text += rows_as_sql(database, table, kept == suffix.end() ? "" : kept->second);
    }
    add("'index'");
    add("'view'");
    add("'trigger'");
    return text;
  } catch (const SQLite::Exception& exception) {
    return sqlite_error(exception);
  }
}

}  // namespace halfsent::init
