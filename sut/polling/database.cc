#include "database.h"

#include <sqlite3.h>

namespace reference {
namespace {

constexpr int busy_timeout_ms = 5000;

}  // namespace

Query& Query::with(const char* name, std::int64_t value) {
  statement_.bind(name, value);
  return *this;
}

Query& Query::with(const char* name, const std::string& value) {
  statement_.bind(name, value);
  return *this;
}

Query& Query::with(const char* name, const std::optional<Seconds>& value) {
  if (value) {
    statement_.bind(name, *value);
  } else {
    statement_.bind(name);
  }
  return *this;
}

int Query::change() {
  while (statement_.executeStep()) {
  }
  return statement_.getChanges();
}

std::optional<Seconds> Query::seconds(int column) {
  return is_null(column) ? std::nullopt : std::optional<Seconds>(number(column));
}

Database::Database(const std::string& file) : db_(file, SQLite::OPEN_READWRITE, busy_timeout_ms) {
  db_.exec("PRAGMA synchronous = FULL");
}

Query Database::query(std::string_view sql) {
  auto found = prepared_.find(sql);
  if (found == prepared_.end()) found = prepared_.try_emplace(sql, db_, std::string(sql)).first;
  found->second.tryReset();
  found->second.clearBindings();
  return Query(found->second);
}

bool passes(const SQLite::Exception& error) {
  switch (error.getErrorCode() & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_PROTOCOL:  // somebody stands between two locks for longer than SQLite cares to wait
    case SQLITE_READONLY:
    case SQLITE_IOERR:
    case SQLITE_FULL:
    case SQLITE_CANTOPEN:
      return true;
    default:
      return false;
  }
}

}  // namespace reference
