// The ledger's file, and the statements on it: each is prepared at its first use and kept.
//
// Threads: one. Errors: SQLite::Exception; passes() tells those that pass by themselves.
#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "job.h"

namespace reference {

// A statement in use. Reset when it goes out of scope: one that is not done would keep its transaction open.
class Query {
 public:
  explicit Query(SQLite::Statement& statement) : statement_(statement) {}
  ~Query() { statement_.tryReset(); }
  Query(const Query&) = delete;
  Query& operator=(const Query&) = delete;

  Query& with(const char* name, std::int64_t value);
  Query& with(const char* name, const std::string& value);
  Query& with(const char* name, const std::optional<Seconds>& value);

  // The next row; false: no more.
  bool step() { return statement_.executeStep(); }
  // Runs to the end and tells how many rows were changed.
  int change();

  [[nodiscard]] std::int64_t number(int column) { return statement_.getColumn(column).getInt64(); }
  [[nodiscard]] std::string text(int column) { return statement_.getColumn(column).getString(); }
  [[nodiscard]] bool is_null(int column) { return statement_.isColumnNull(column); }
  [[nodiscard]] std::optional<Seconds> seconds(int column);

 private:
  SQLite::Statement& statement_;
};

class Database {
 public:
  // Opens an existing ledger.
  explicit Database(const std::string& file);

  // `sql` must live as long as the database: it is its own name. One use at a time.
  Query query(std::string_view sql);

  SQLite::Database& handle() { return db_; }

 private:
  SQLite::Database db_;
  std::map<std::string_view, SQLite::Statement> prepared_;  // closes before db_
};

// A transaction that has the write lock from its start: what it reads stays true until it commits.
class Immediate {
 public:
  explicit Immediate(Database& db) : transaction_(db.handle(), SQLite::TransactionBehavior::IMMEDIATE) {}
  void commit() { transaction_.commit(); }

 private:
  SQLite::Transaction transaction_;
};

// True for trouble that passes by itself: a lock, a full disk, an error of a device.
bool passes(const SQLite::Exception& error);

}  // namespace reference
