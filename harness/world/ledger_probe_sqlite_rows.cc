#include "harness/world/ledger_probe_sqlite_rows.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/format.h>
#include <sqlite3.h>
#include <strings.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>

#include "harness/core/text.h"

namespace halfsent::sqlite {
namespace {

std::string in_quotes(std::string_view bytes) {
  std::string out;
  append_json_string(out, bytes);
  return out;
}

Error usage(std::string message, std::string mend) {
  return {.code = ExitCode::usage, .message = std::move(message), .mend = std::move(mend)};
}

Error sqlite_error(const LedgerConfig& config, const SQLite::Exception& exception) {
  const std::string message = printable(exception.what());
  switch (exception.getErrorCode()) {
    case SQLITE_NOTADB:
      return usage(fmt::format("the ledger {} is no SQLite database: {}", in_quotes(config.path), message),
                   "let path of [ledger] name an SQLite file; an encrypted one cannot be read");
    case SQLITE_CORRUPT:
      return usage(
          fmt::format("the ledger {} is damaged: {}", in_quotes(config.path), message),
          "a ledger that is to survive a kill needs journal_mode WAL, DELETE, TRUNCATE or PERSIST; with OFF or "
          "MEMORY a transaction in flight cannot be told from a finished one");
    case SQLITE_CANTOPEN:
    case SQLITE_FULL:
    case SQLITE_IOERR:
    case SQLITE_NOMEM:
      return {.message = fmt::format("cannot read a copy of the ledger {}: {}", in_quotes(config.path), message)};
    default:
      return usage(
          fmt::format("the rows query of the ledger fails: {}", message),
          "correct rows of [ledger]; if the worker makes its tables one by one, let setup of [ledger] make them");
  }
}

struct Columns {
  int key = -1;
  int state = -1;
  int attempts = -1;
  int lease_until = -1;
  int token = -1;
  int owner = -1;
  int slot = -1;
  int cohort = -1;
  int authority = -1;
  int due_at = -1;
};

Result<Columns> find_columns(const SQLite::Statement& query) {
  Columns columns;
  const std::pair<const char*, int*> wanted[] = {{"key", &columns.key},
                                                 {"state", &columns.state},
                                                 {"attempts", &columns.attempts},
                                                 {"lease_until", &columns.lease_until},
                                                 {"token", &columns.token},
                                                 {"owner", &columns.owner},
                                                 {"slot", &columns.slot},
                                                 {"cohort", &columns.cohort},
                                                 {"authority", &columns.authority},
                                                 {"due_at", &columns.due_at}};
  for (int i = 0; i < query.getColumnCount(); ++i) {
    for (const auto& [name, index] : wanted) {
      if (strcasecmp(query.getColumnName(i), name) != 0) continue;
      if (*index >= 0) {
        return usage(fmt::format("the rows query returns the column {} twice", name),
                     fmt::format("keep one column named {} in rows of [ledger]", name));
      }
      *index = i;
    }
  }
  for (const auto& [name, index] : {wanted[0], wanted[1]}) {
    if (*index >= 0) continue;
    return usage(fmt::format("the rows query returns no column named {}", name),
                 "write rows of [ledger] as SELECT ... AS key, ... AS state FROM ...");
  }
  return columns;
}

std::string bytes_of(const SQLite::Column& column) {
  if (column.isNull()) return "NULL";
  // Through the text, as it is UTF-8 whatever the database's encoding; Column::getString gives the stored form.
  const auto* data = column.isBlob() ? static_cast<const char*>(column.getBlob()) : column.getText();
  return data == nullptr ? std::string() : std::string(data, static_cast<std::size_t>(column.getBytes()));
}

template <class Number>
std::optional<Number> parse_number(const std::string& text) {
  Number value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<std::int64_t> whole_number(const SQLite::Column& column) {
  if (column.isInteger() || column.isFloat()) return column.getInt64();
  return parse_number<std::int64_t>(bytes_of(column));
}

std::optional<double> finite_number(const SQLite::Column& column) {
  const auto number = column.isInteger() || column.isFloat() ? std::optional(column.getDouble())
                                                             : parse_number<double>(bytes_of(column));
  return number && std::isfinite(*number) ? number : std::nullopt;
}

Error no_number(std::string_view column, const LedgerRow& row, const SQLite::Column& value, std::string mend) {
  return usage(fmt::format("the rows query gives {} {} for key {}, which is no number", column,
                           in_quotes(bytes_of(value)), in_quotes(row.key)),
               std::move(mend));
}

Result<LedgerRow> read_row(const LedgerConfig& config, const SQLite::Statement& query, const Columns& columns) {
  LedgerRow row;
  const SQLite::Column key = query.getColumn(columns.key);
  if (key.isNull()) {
    return usage("the rows query gives a NULL key",
                 "leave rows without a key out: add WHERE ... IS NOT NULL to rows of [ledger]");
  }
  row.key = bytes_of(key);
  row.raw_state = bytes_of(query.getColumn(columns.state));
  const auto listed = config.states.find(row.raw_state);
  row.state = listed == config.states.end() ? JobState::unlisted : listed->second;

  if (columns.attempts >= 0 && !query.isColumnNull(columns.attempts)) {
    const SQLite::Column column = query.getColumn(columns.attempts);
    const auto attempts = whole_number(column);
    if (!attempts) return no_number("attempts", row, column, "return a whole number or NULL as attempts");
    row.attempts = *attempts;
  }
  const std::tuple<const char*, int, std::optional<double>*> times[] = {
      {"lease_until", columns.lease_until, &row.lease_until}, {"due_at", columns.due_at, &row.due_at}};
  for (const auto& [name, index, into] : times) {
    if (index < 0 || query.isColumnNull(index)) continue;
    const SQLite::Column column = query.getColumn(index);
    *into = finite_number(column);
    if (!*into) {
      return no_number(name, row, column,
                       "return seconds since the epoch or NULL; a date becomes one with unixepoch(...)");
    }
  }
  const std::pair<int, std::string*> texts[] = {{columns.token, &row.token},
                                                {columns.owner, &row.owner},
                                                {columns.slot, &row.slot},
                                                {columns.cohort, &row.cohort},
                                                {columns.authority, &row.authority}};
  for (const auto& [index, into] : texts) {
    if (index >= 0 && !query.isColumnNull(index)) *into = bytes_of(query.getColumn(index));
  }
  return row;
}

// pending, leased, an unlisted state, flagged, delivered: how far from done a row is.
int distance_done(const LedgerRow& row) {
  switch (row.state) {
    case JobState::pending:
      return 0;
    case JobState::leased:
      return 1;
    case JobState::flagged:
      return 3;
    case JobState::delivered:
      return 4;
    case JobState::none:
    case JobState::unlisted:
      break;
  }
  return 2;
}

// Rows of one key become one.
std::vector<LedgerRow> one_for_each_key(std::vector<LedgerRow> rows) {
  const auto order = [](const LedgerRow& row) {
    return std::tuple(std::string_view(row.key), distance_done(row), std::string_view(row.raw_state), row.attempts,
                      std::string_view(row.token), std::string_view(row.owner), row.lease_until, row.due_at,
                      std::string_view(row.slot), std::string_view(row.cohort), std::string_view(row.authority));
  };
  std::ranges::sort(rows, [&](const LedgerRow& a, const LedgerRow& b) { return order(a) < order(b); });
  std::vector<LedgerRow> merged;
  for (LedgerRow& row : rows) {
    if (!merged.empty() && merged.back().key == row.key) {
      ++merged.back().rows;
    } else {
      merged.push_back(std::move(row));
    }
  }
  return merged;
}

bool has_no_tables(SQLite::Database& database) {
  try {
    return database.execAndGet("SELECT count(*) FROM sqlite_schema").getInt() == 0;
  } catch (const SQLite::Exception&) {
    return false;
  }
}

Result<std::vector<LedgerRow>> run_query(const LedgerConfig& config, SQLite::Database& database) {
  std::vector<LedgerRow> rows;
  SQLite::Statement query(database, config.rows);
  const auto columns = find_columns(query);
  if (!columns) return columns.error();
  while (query.executeStep()) {
    auto row = read_row(config, query, *columns);
    if (!row) return row.error();
    rows.push_back(std::move(*row));
  }
  return one_for_each_key(std::move(rows));
}

Result<std::vector<LedgerRow>> rows_of(const LedgerConfig& config, SQLite::Database& database) {
  try {
    return run_query(config, database);
  } catch (const SQLite::Exception& exception) {
    // The worker has made the file and not yet the tables: no rows yet, as before there was a file.
    if (exception.getErrorCode() == SQLITE_ERROR && has_no_tables(database)) return std::vector<LedgerRow>{};
    return sqlite_error(config, exception);
  }
}

}  // namespace

Result<std::vector<LedgerRow>> ImageReader::rows(const LedgerConfig& config, std::vector<char> image) {
  if (image.empty()) return std::vector<LedgerRow>{};
  if (rows_ && image == image_) return *rows_;  // within a commit one view becomes the other
  rows_.reset();
  // A moved vector keeps its buffer: the connection may still look at the previous one when it is given the next.
  const std::vector<char> previous = std::exchange(image_, std::move(image));
  const bool used_before = connection_.has_value();
  auto rows = read(config);
  if (rows) rows_ = *rows;
  if (rows) return rows;
  // What a connection keeps from an earlier database (its text encoding) must not make this one fail.
  connection_.reset();
  if (used_before) rows = read(config);
  if (rows) rows_ = *rows;
  if (!rows) connection_.reset();
  return rows;
}

Result<std::vector<LedgerRow>> ImageReader::read(const LedgerConfig& config) {
  try {
    if (!connection_) connection_.emplace(":memory:", SQLite::OPEN_READWRITE);
    const auto size = static_cast<sqlite3_int64>(image_.size());
    sqlite3* handle = connection_->getHandle();
    const int status = sqlite3_deserialize(handle, "main", reinterpret_cast<unsigned char*>(image_.data()), size, size,
                                           SQLITE_DESERIALIZE_READONLY);
    if (status != SQLITE_OK) throw SQLite::Exception(handle, status);
    return rows_of(config, *connection_);
  } catch (const SQLite::Exception& exception) {
    return sqlite_error(config, exception);
  }
}

Result<std::vector<LedgerRow>> rows_of_copy(const LedgerConfig& config, const std::filesystem::path& file) {
  try {
    SQLite::Database database(std::filesystem::absolute(file).string(), SQLite::OPEN_READWRITE);
    // The copy is thrown away: no time is spent on writing its log back.
    sqlite3_db_config(database.getHandle(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
    return rows_of(config, database);
  } catch (const SQLite::Exception& exception) {
    return sqlite_error(config, exception);
  }
}

Result<std::vector<char>> image_of_copy(const LedgerConfig& config, const std::filesystem::path& file) {
  try {
    SQLite::Database database(std::filesystem::absolute(file).string(), SQLite::OPEN_READWRITE);
    sqlite3_int64 size = 0;
    unsigned char* bytes = sqlite3_serialize(database.getHandle(), "main", &size, 0);
    if (bytes == nullptr) throw SQLite::Exception(database.getHandle(), SQLITE_NOMEM);
    std::vector<char> image(bytes, bytes + size);
    sqlite3_free(bytes);
    return image;
  } catch (const SQLite::Exception& exception) {
    return sqlite_error(config, exception);
  }
}

}  // namespace halfsent::sqlite
