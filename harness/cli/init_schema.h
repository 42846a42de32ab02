// What a ledger's tables look like: read from a copy of the ledger, never from the live file.
//
// Threads: one. Errors: ExitCode::usage with the mend.
#pragma once

#include <SQLiteCpp/Database.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "harness/core/error.h"

namespace halfsent::init {

struct Column {
  std::string name;
  std::string type = {};                  // as declared, in upper case; may be empty
  bool not_null = false;                  // or part of the primary key
  bool rowid = false;                     // INTEGER PRIMARY KEY: SQLite numbers it
  int primary_key = 0;                    // its place in the primary key, from 1; 0: none
  bool unique = false;                    // alone: a one-column primary key or unique index
  bool generated = false;                 // cannot be inserted
  std::string default_sql = {};           // empty: none
  std::vector<std::string> allowed = {};  // what CHECK (name IN (...)) lists
  std::string parent_table = {};          // REFERENCES
  std::string parent_column = {};
};

struct Table {
  std::string name;
  std::vector<Column> columns;
  std::string rowid = "rowid";  // a name that no column has; empty: WITHOUT ROWID
  std::int64_t rows = 0;
};

// A ledger as a file of ours. The original is read as bytes, with its log and journal: no connection, no lock.
class LedgerCopy {
 public:
  // `ledger`: the original. `folder`: an empty one of ours, where the copy is made, recovered and opened read-only.
  static Result<LedgerCopy> make(const std::filesystem::path& ledger, const std::filesystem::path& folder);

  // Ordinary tables ordered by name, SQLite's own left out.
  [[nodiscard]] const std::vector<Table>& tables() const { return tables_; }
  [[nodiscard]] SQLite::Database& database() const { return *database_; }

 private:
  std::unique_ptr<SQLite::Database> database_;
  std::vector<Table> tables_;
};

// Errors of SQLite as an exception (SQLite::Exception).
std::vector<Table> read_tables(SQLite::Database& database);

// The words of "column IN ('a', 'b')" in the text of a CREATE TABLE; empty: there is no such check. Pure.
std::vector<std::string> check_words(std::string_view create_table, std::string_view column);

// A name as SQL text, in quotes where it needs them; a text as an SQL literal. Pure.
std::string sql_name(std::string_view name);
std::string sql_text(std::string_view bytes);

// SQL that makes the ledger again: its settings, tables, rows, then indices, views and triggers. `suffix`, by table:
// what follows "SELECT ... FROM table" for the rows that are kept ("WHERE 0"); without an entry all are.
Result<std::string> dump(const LedgerCopy& ledger, const std::map<std::string, std::string>& suffix);

// One INSERT for each row of "SELECT ... FROM table SUFFIX", a line each.
Result<std::string> dump_rows(const LedgerCopy& ledger, const Table& table, const std::string& suffix);

}  // namespace halfsent::init
