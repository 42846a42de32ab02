// From what a trial run showed to a scenario's ledger and downstream: which table holds the jobs, what its columns are,
// what its state words mean, and where a request carries the key.
//
// What was seen goes before what names suggest; what neither tells is left empty, for the caller to ask. Pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "fakes/request_reader.h"
#include "harness/cli/init_schema.h"
#include "harness/core/event.h"
#include "harness/scenario/scenario.h"

namespace halfsent::init {

// A row as it was from some moment on. Values are SQL literals as quote() gives them, in the order of the columns.
struct RowVersion {
  Nanoseconds at{0};  // since the world's start, which is a midnight of UTC
  std::vector<std::string> values;
};

struct RowStory {
  std::string table;
  std::string row;                   // tells it from the others of its table
  std::vector<RowVersion> versions;  // in order; the first is how it was at the start, or when it was inserted
};

// The text that a literal stands for: 'it''s' is it's, NULL is NULL, 12 is 12, X'61' is a.
std::string plain(const std::string& literal);

struct LedgerGuess {
  std::string table = {};  // empty: there is none that looks like jobs
  std::string key_column = {};
  std::string key_sql = {};       // an expression over the table's columns
  std::string state_column = {};  // empty: told from other columns
  std::string state_sql = {};
  // Words in the order in which they were seen, then as the schema lists them.
  std::vector<std::string> pending = {};
  std::vector<std::string> leased = {};
  std::vector<std::string> delivered = {};
  std::vector<std::string> flagged = {};
  std::vector<std::string> unclear = {};  // words that neither the trial nor their meaning places
  std::string attempts_column = {};       // empty: none
  std::string lease_column = {};          // empty: none
  std::string lease_sql = {};             // seconds since the epoch
  std::optional<Nanoseconds> lease = {};  // how long a claim lasts, when a claim showed it
  bool lease_is_start = false;            // the column says when it was claimed: lease_sql needs the length
  bool claim_seen = false;
  bool delivery_seen = false;
};

// `words`: for each table and column of text or small numbers, the values that its rows have now, in order.
using KnownWords = std::map<std::string, std::map<std::string, std::vector<std::string>>>;

// The jobs' table by its schema and what moved in it; empty: none looks like one.
std::string guess_table(const std::vector<Table>& tables, const std::vector<RowStory>& stories);

LedgerGuess guess_ledger(const Table& table, const std::vector<RowStory>& stories,
                         const std::vector<ReceivedRequest>& requests, const KnownWords& words);

// The column that is most likely the state, by its schema and by what moved; null: none.
const Column* guess_state_column(const Table& table, const std::vector<RowStory>& stories);

struct KeyGuess {
  std::string key_column;        // whose values the requests carry; empty: no column's
  std::optional<KeySource> key;  // the idempotency key; empty: no request carries one
  std::vector<KeySource> job;    // where else the job is told
};
KeyGuess guess_key(const Table& table, const std::vector<RowStory>& stories,
                   const std::vector<ReceivedRequest>& requests);

// As a scenario writes it: "header Idempotency-Key".
std::string to_text(const KeySource& source);

}  // namespace halfsent::init
