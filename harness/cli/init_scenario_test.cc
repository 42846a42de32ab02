// What init makes of a ledger: SQL that makes it again, jobs, and a scenario that loads.
#include <SQLiteCpp/SQLiteCpp.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "harness/cli/init_input.h"
#include "harness/cli/init_jobs.h"
#include "harness/cli/init_schema.h"
#include "harness/cli/init_toml.h"
#include "harness/cli/init_trial.h"
#include "harness/cli/stored_run.h"

namespace halfsent::init {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using namespace std::chrono_literals;

class InitScenario : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) /
              ("halfsent-init-" + std::string(testing::UnitTest::GetInstance()->current_test_info()->name()));
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  LedgerCopy ledger(const std::string& sql) const {
    SQLite::Database(folder_ / "a.db", SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE).exec(sql);
    return LedgerCopy::make(folder_ / "a.db", folder_ / "copy").value();
  }

  static std::string text_of(SQLite::Database& database, const std::string& query) {
    return database.execAndGet(query).getString();
  }

  fs::path folder_;
};

TEST(InitSchema, TheWordsOfACheckAreFoundWhateverItsSpelling) {
  EXPECT_THAT(check_words("CREATE TABLE t (s TEXT CHECK (s IN ('a', 'it''s')))", "s"), ElementsAre("a", "it's"));
  EXPECT_THAT(check_words("CREATE TABLE t (\"State\" TEXT, CHECK(\"State\"in(0,1,-2)))", "State"),
              ElementsAre("0", "1", "-2"));
  EXPECT_THAT(check_words("CREATE TABLE t (ss TEXT CHECK (ss IN ('a')), s TEXT)", "s"), IsEmpty());
  EXPECT_THAT(check_words("CREATE TABLE t (s TEXT CHECK (s IN (SELECT x FROM y)))", "s"), IsEmpty());
}

TEST_F(InitScenario, TheSchemaIsReadWithKeysDefaultsAndParents) {
  const LedgerCopy copy = ledger(
      "CREATE TABLE people (id INTEGER PRIMARY KEY, name TEXT UNIQUE);"
      "CREATE TABLE jobs (a TEXT, b TEXT, state TEXT NOT NULL DEFAULT 'new' CHECK (state IN ('new', 'sent')),"
      " person INTEGER REFERENCES people(id), twice INTEGER AS (person * 2), PRIMARY KEY (a, b)) WITHOUT ROWID;"
      "CREATE VIEW v AS SELECT * FROM jobs; INSERT INTO people VALUES (1, 'x');");
  ASSERT_EQ(copy.tables().size(), 2u);
  const Table& jobs = copy.tables()[0];
  EXPECT_EQ(jobs.name, "jobs");
  EXPECT_EQ(jobs.rowid, "");
  EXPECT_EQ(jobs.columns[1].primary_key, 2);
  EXPECT_FALSE(jobs.columns[1].unique);
  EXPECT_EQ(jobs.columns[2].default_sql, "'new'");
  EXPECT_THAT(jobs.columns[2].allowed, ElementsAre("new", "sent"));
  EXPECT_EQ(jobs.columns[3].parent_table, "people");
  EXPECT_TRUE(jobs.columns[4].generated);
  EXPECT_EQ(copy.tables()[1].rows, 1);
  EXPECT_TRUE(copy.tables()[1].columns[0].rowid);
  EXPECT_TRUE(copy.tables()[1].columns[1].unique);
}

TEST_F(InitScenario, ADumpMakesTheSameLedgerAgain) {
  const std::string odd = R"(CREATE TABLE "two words" (a TEXT, b BLOB, c REAL, d INTEGER);)"
                          R"(CREATE TABLE log (n INTEGER PRIMARY KEY); CREATE INDEX i ON "two words" (a);)"
                          R"(INSERT INTO "two words" VALUES ('it''s' || char(10) || 'ä', x'0001', 0.1, NULL),)"
                          R"( (CAST(x'61ff00' AS TEXT), x'', 3.0, 9223372036854775807);)"
                          R"(CREATE TRIGGER tr AFTER INSERT ON "two words" BEGIN INSERT INTO log VALUES (NULL); END;)"
                          "PRAGMA user_version = 7; PRAGMA journal_mode = WAL;";
  const LedgerCopy copy = ledger(odd);
  const std::string sql = dump(copy, {}).value();
  SQLite::Database again(folder_ / "again.db", SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
  again.exec(sql);
  const std::string rows = R"(SELECT group_concat(quote(a) || typeof(a) || quote(b) || quote(c) || quote(d), '|'))"
                           R"( || (SELECT count(*) FROM log) FROM "two words")";
  EXPECT_EQ(text_of(again, rows), text_of(copy.database(), rows));
  const std::string schema = "SELECT group_concat(sql, '|') FROM (SELECT sql FROM sqlite_schema ORDER BY name)";
  EXPECT_EQ(text_of(again, schema), text_of(copy.database(), schema));
  EXPECT_EQ(text_of(again, "PRAGMA user_version"), "7");
  EXPECT_EQ(text_of(again, "PRAGMA journal_mode"), "wal");
}

TEST_F(InitScenario, TheOriginalIsReadWithItsLogAndIsNotTouched) {
  SQLite::Database open(folder_ / "live.db", SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
  open.exec("PRAGMA journal_mode = WAL; CREATE TABLE jobs (k TEXT); INSERT INTO jobs VALUES ('only in the log')");
  const std::string before = read_text(folder_ / "live.db").value() + read_text(folder_ / "live.db-wal").value();
  {
    // In a process that has it open, closing a descriptor would drop its locks: here that is of no concern.
    const LedgerCopy copy = LedgerCopy::make(folder_ / "live.db", folder_ / "copy").value();
    EXPECT_EQ(text_of(copy.database(), "SELECT k FROM jobs"), "only in the log");
  }
  EXPECT_EQ(read_text(folder_ / "live.db").value() + read_text(folder_ / "live.db-wal").value(), before);
}

TEST_F(InitScenario, MadeUpJobsAreAcceptedByTheTableAndDiffer) {
  const LedgerCopy copy = ledger(
      "CREATE TABLE people (id INTEGER PRIMARY KEY); INSERT INTO people VALUES (41);"
      "CREATE TABLE jobs (ref TEXT PRIMARY KEY, status TEXT NOT NULL CHECK (status IN ('fresh', 'gone')),"
      " person INTEGER NOT NULL REFERENCES people(id), due_at INTEGER NOT NULL, kind TEXT NOT NULL DEFAULT 'x',"
      " note TEXT, size INTEGER NOT NULL);");
  const std::string jobs = made_up_jobs(copy.tables()[0]);
  SQLite::Database again(":memory:", SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
  again.exec("PRAGMA foreign_keys = ON;" + dump(copy, {}).value() + jobs);
  EXPECT_EQ(text_of(again,
                    "SELECT group_concat(ref || status || person || due_at || kind || coalesce(note, '-'), ' ')"
                    " FROM jobs"),
            "ref-1fresh410x- ref-2fresh410x-");
}

Sketch complete() {
  Sketch sketch;
  sketch.name = "mails";
  sketch.command = {"python3", "worker.py", "a \"b\""};
  sketch.ledger_path = "app.db";
  sketch.setup_file = "mails.setup.sql";
  sketch.jobs = "INSERT INTO mails VALUES ('a\\b', 'it''s \"x\"');\n";
  sketch.ledger.table = "mails";
  sketch.ledger.key_sql = "ref";
  sketch.ledger.state_column = sketch.ledger.state_sql = "status";
  sketch.ledger.pending = {"new"};
  sketch.ledger.leased = {"busy"};
  sketch.ledger.delivered = {"sent"};
  sketch.ledger.lease = 45s;
  sketch.ledger.lease_column = sketch.ledger.lease_sql = "held_until";
  sketch.ledger.claim_seen = sketch.ledger.delivery_seen = true;
  sketch.key.job = {{.kind = KeySource::Kind::json, .where = "ref"}};
  sketch.port_seen = sketch.requests_seen = true;
  return sketch;
}

TEST_F(InitScenario, WhatIsWrittenLoadsAndAsksForTheChoicesOfTheProductOnly) {
  ASSERT_TRUE(write_text(folder_ / "mails.setup.sql", "CREATE TABLE mails (ref, status);"));
  const Written written = write_scenario(complete());
  const Result<Scenario> scenario = parse_scenario(written.text, folder_ / "mails.toml");
  ASSERT_TRUE(scenario) << scenario.error().to_string() << written.text;
  EXPECT_THAT(scenario->ledger.setup, HasSubstr(complete().jobs));
  EXPECT_EQ(scenario->actors.front().command.back(), "a \"b\"");
  EXPECT_EQ(scenario->lease, 45s);
  EXPECT_EQ(scenario->on_doubt, OnDoubt::flag);
  EXPECT_FALSE(scenario->downstream.honours_key);
  ASSERT_EQ(written.edits.size(), 2u);
  EXPECT_THAT(written.edits[0].what, HasSubstr("on_doubt"));
  EXPECT_THAT(written.edits[1].what, HasSubstr("honours_key"));
}

TEST_F(InitScenario, EachThingThatCouldNotBeGuessedIsAnEditAtItsLine) {
  ASSERT_TRUE(write_text(folder_ / "mails.setup.sql", "CREATE TABLE mails (ref, status);"));
  Sketch sketch = complete();
  sketch.jobs_made_up = true;
  sketch.ledger.delivered.clear();
  sketch.ledger.unclear = {"frozen"};
  sketch.ledger.lease.reset();
  sketch.key.job.clear();
  sketch.port_seen = false;
  const Written written = write_scenario(sketch);
  EXPECT_TRUE(parse_scenario(written.text, folder_ / "mails.toml")) << written.text;
  std::istringstream lines(written.text);
  std::vector<int> marked;
  int number = 0;
  for (std::string line; std::getline(lines, line);)
    if (++number; line.starts_with("# EDIT: ")) marked.push_back(number);
  std::vector<int> told;
  for (const Edit& edit : written.edits) told.push_back(edit.line);
  EXPECT_EQ(told, marked);
  EXPECT_EQ(told.size(), 8u);
}

TEST(InitTrial, ThePortIsThatOfAUrlOfThisMachine) {
  EXPECT_EQ(port_in({"python3", "--to=http://127.0.0.1:9191/send"}), 9191);
  EXPECT_EQ(port_in({"http://localhost/x"}), 80);
  EXPECT_EQ(port_in({"http://api.example.com:9000/"}), std::nullopt);
  EXPECT_EQ(port_in({"http://127.0.0.1.example.com/"}), std::nullopt);
  EXPECT_EQ(port_in({"http://127.0.0.1:99999/"}), std::nullopt);
}

TEST(InitTrial, PortsThatWereConnectedToAreInTheHistory) {
  History history;
  for (const char* object : {"port 53", "port 9000", "port 9000", "port 25"})
    history.events.push_back({.body = Stopped{.call = "connect", .object = object}});
  EXPECT_THAT(foreign_ports(history), ElementsAre(9000, 25));
  EXPECT_FALSE(reached_downstream(history));
  history.events.push_back({.body = Stopped{.call = "connect", .object = "downstream"}});
  EXPECT_TRUE(reached_downstream(history));
}

TEST(InitTrial, ALeaseIsTheTimeBetweenTwoClaimsAndNotBetweenTheWordsOfOne) {
  History history;
  const auto leased = [&](Nanoseconds at) {
    history.events.push_back({.at = at, .body = LedgerChanged{.key = "a", .to = JobState::leased}});
  };
  leased(5ms);
  leased(6ms);
  EXPECT_FALSE(time_between_claims(history).has_value());
  leased(60s);
  EXPECT_EQ(time_between_claims(history), 60s - 5ms);
}

TEST(InitInput, ACommandIsSplitAsAShellWouldAndOneWithOperatorsGoesToAShell) {
  EXPECT_THAT(split_command("python3  worker.py 'a b' \"c\"").value(), ElementsAre("python3", "worker.py", "a b", "c"));
  EXPECT_THAT(split_command("cd x && ./run").value(), ElementsAre("sh", "-c", "cd x && ./run"));
  EXPECT_FALSE(split_command("  "));
}

}  // namespace
}  // namespace halfsent::init
