// What the rows query may give, what is refused with which words, which files and locks are the ledger's, and setting
// up.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "harness/world/ledger_probe.h"
#include "harness/world/ledger_sqlite_process.h"

namespace halfsent {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;
using testing::files_in;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::SqliteProcess;
using testing::TestFolder;
namespace fs = std::filesystem;

using Rows = std::vector<LedgerRow>;

LedgerConfig config_of(std::string setup, std::string rows) {
  LedgerConfig config;
  config.path = "ledger.db";
  config.setup = std::move(setup);
  config.rows = std::move(rows);
  config.states = {{"pending", JobState::pending}, {"leased", JobState::leased}, {"2", JobState::delivered}};
  return config;
}

constexpr const char* kJobs = "CREATE TABLE jobs(k, s, a, u);";
constexpr const char* kRows = "SELECT k AS key, s AS state, a AS attempts, u AS lease_until FROM jobs";

// The live rows of a ledger that `setup` makes.
Result<Rows> rows_of(const std::string& setup, const std::string& rows = kRows) {
  const TestFolder folder;
  const LedgerConfig config = config_of(setup, rows);
  if (auto created = create_ledger(config, folder.ledger()); !created) return created.error();
  return make_ledger_probe(config, folder.world(), folder.scratch())->live();
}

Error error_of(const Result<Rows>& rows) {
  EXPECT_FALSE(rows) << "no error";
  return rows ? Error{} : rows.error();
}

auto usage(const std::string& message, const std::string& mend) {
  return AllOf(Field(&Error::code, ExitCode::usage), Field(&Error::message, HasSubstr(message)),
               Field(&Error::mend, HasSubstr(mend)));
}

LedgerRow row(std::string key, std::string raw_state, JobState state) {
  LedgerRow row;
  row.key = std::move(key);
  row.raw_state = std::move(raw_state);
  row.state = state;
  return row;
}

TEST(LedgerRows, AreOrderedByTheBytesOfTheirKeysWithStatesInOurWords) {
  LedgerRow b = row("b", "leased", JobState::leased);
  b.attempts = 3;
  b.lease_until = 1786354560.5;
  EXPECT_EQ(
      rows_of(std::string(kJobs) + "INSERT INTO jobs VALUES('b', 'leased', 3, 1786354560.5), ('\u00e9', 'pending', "
                                   "NULL, NULL), ('B', 'sent', NULL, NULL);")
          .value(),
      (Rows{row("B", "sent", JobState::unlisted), b, row("\u00e9", "pending", JobState::pending)}));
}

TEST(LedgerRows, KeysKeepEveryByte) {
  EXPECT_EQ(
      rows_of(std::string(kJobs) + "INSERT INTO jobs VALUES(x'00ff', 'pending', NULL, NULL), "
                                   "(cast(x'610062' AS TEXT), 'pending', NULL, NULL), ('', 'pending', NULL, NULL);")
          .value(),
      (Rows{row("", "pending", JobState::pending), row(std::string("\0\xff", 2), "pending", JobState::pending),
            row(std::string("a\0b", 3), "pending", JobState::pending)}));
}

TEST(LedgerRows, NumbersAreTakenAsTextForKeysAndStates) {
  EXPECT_EQ(
      rows_of(std::string(kJobs) + "INSERT INTO jobs VALUES(4187, 2, '7', '12.5');", kRows).value().at(0),
      (LedgerRow{.key = "4187", .raw_state = "2", .state = JobState::delivered, .attempts = 7, .lease_until = 12.5}));
}

TEST(LedgerRows, ANullStateIsUnlisted) {
  EXPECT_EQ(rows_of(std::string(kJobs) + "INSERT INTO jobs VALUES('k', NULL, NULL, NULL);").value(),
            (Rows{row("k", "NULL", JobState::unlisted)}));
}

TEST(LedgerRows, ColumnsAreFoundByNameInAnyCaseAndOrder) {
  const auto rows = rows_of(std::string(kJobs) + "INSERT INTO jobs VALUES('k', 'pending', 2, 9);",
                            "SELECT a AS ATTEMPTS, 1 AS other, s AS State, k AS KEY FROM jobs");
  LedgerRow expected = row("k", "pending", JobState::pending);
  expected.attempts = 2;
  EXPECT_EQ(rows.value(), (Rows{expected}));
}

TEST(LedgerRows, SeveralRowsOfOneKeyAreCountedAndTheOneFurthestFromDoneIsTold) {
  LedgerRow leased = row("k", "leased", JobState::leased);
  leased.attempts = leased.rows = 2;
  for (const char* values : {"('k', 'delivered', 9, NULL), ('j', 'pending', 1, 1), ('k', 'leased', 2, NULL)",
                             "('k', 'leased', 2, NULL), ('j', 'pending', 1, 1), ('k', 'delivered', 9, NULL)"}) {
    const auto rows = rows_of(std::string(kJobs) + "INSERT INTO jobs VALUES" + values).value();
    ASSERT_EQ(rows.size(), 2u);
    EXPECT_EQ(rows[0].rows, 1);
    EXPECT_EQ(rows[1], leased);
  }
}

TEST(LedgerRows, WhatOnlySomeLedgersHaveIsTakenWhereTheQueryGivesIt) {
  LedgerRow expected = row("k", "pending", JobState::pending);
  expected.token = "3";
  expected.owner = "w";
  expected.slot = "4187/33";
  expected.cohort = "eu";
  expected.authority = "1.5";
  expected.due_at = 12.5;
  EXPECT_EQ(rows_of(std::string(kJobs) + "INSERT INTO jobs VALUES('k', 'pending', NULL, NULL);",
                    "SELECT k AS key, s AS state, 3 AS token, 'w' AS Owner, '4187/33' AS slot, 'eu' AS cohort, "
                    "1.5 AS authority, '12.5' AS due_at FROM jobs")
                .value(),
            (Rows{expected}));
  EXPECT_EQ(rows_of(std::string(kJobs) + "INSERT INTO jobs VALUES('k', 'pending', NULL, NULL);",
                    "SELECT k AS key, s AS state, NULL AS token, NULL AS due_at FROM jobs")
                .value(),
            (Rows{row("k", "pending", JobState::pending)}));
  EXPECT_THAT(error_of(rows_of(std::string(kJobs) + "INSERT INTO jobs VALUES('k', 'pending', NULL, NULL);",
                               "SELECT k AS key, s AS state, 'soon' AS due_at FROM jobs")),
              usage("due_at \"soon\"", "unixepoch"));
}

TEST(LedgerRows, ADatabaseInUtf16GivesUtf8) {
  EXPECT_EQ(rows_of(std::string("PRAGMA encoding='UTF-16';") + kJobs +
                    "INSERT INTO jobs VALUES('k\u00e9', 'pending', NULL, NULL);")
                .value(),
            (Rows{row("k\u00e9", "pending", JobState::pending)}));
}

TEST(LedgerRows, AnUnusableQueryIsRefusedWithTheMend) {
  EXPECT_THAT(error_of(rows_of(kJobs, "SELECT k AS key FROM jobs")), usage("no column named state", "AS state"));
  EXPECT_THAT(error_of(rows_of(kJobs, "SELECT s AS state FROM jobs")), usage("no column named key", "AS key"));
  EXPECT_THAT(error_of(rows_of(kJobs, "SELECT k AS key, s AS key, s AS state FROM jobs")),
              usage("the column key twice", "keep one column"));
  EXPECT_THAT(error_of(rows_of(kJobs, "SELECT k AS key, s AS state FROM job")),
              usage("no such table: job", "correct rows"));
  EXPECT_THAT(error_of(rows_of(kJobs, "SELEKT")), usage("syntax error", "correct rows"));
  EXPECT_THAT(error_of(rows_of(kJobs, "")), usage("no column named key", "AS key"));
  EXPECT_THAT(error_of(rows_of(kJobs, "DELETE FROM jobs RETURNING k AS key, s AS state")),
              usage("readonly", "correct rows"));
}

TEST(LedgerRows, UnusableValuesAreRefusedWithTheMend) {
  const auto with = [](const std::string& values) {
    return error_of(rows_of(kJobs + ("INSERT INTO jobs VALUES" + values)));
  };
  EXPECT_THAT(with("(NULL, 'pending', 1, 1)"), usage("NULL key", "IS NOT NULL"));
  EXPECT_THAT(with("('k', 'pending', 'many', 1)"), usage(R"(attempts "many" for key "k")", "whole number"));
  EXPECT_THAT(with("('k', 'pending', 1, '2026-08-10 10:00:00')"), usage("lease_until \"2026", "unixepoch"));
  EXPECT_THAT(with("('k', 'pending', 1, 9e999)"), usage("lease_until", "unixepoch"));
  EXPECT_THAT(with("(x'1b5b32', 'x', 'many', 1)").message, ::testing::Not(HasSubstr("\x1b")));
}

class LedgerFile : public ::testing::Test {
 protected:
  void write(const std::string& bytes) { std::ofstream(folder_.ledger(), std::ios::binary) << bytes; }
  bool changed() { return probe_->changed().value(); }
  bool locks(const char* file, std::int64_t start, std::int64_t length) {
    return probe_->is_transaction_lock(file, start, length);
  }

  TestFolder folder_;
  std::unique_ptr<LedgerProbe> probe_ = make_ledger_probe(config_of("", kRows), folder_.world(), folder_.scratch());
};

TEST_F(LedgerFile, UntilTheWorkerMakesItThereAreNoRowsAndNoChange) {
  EXPECT_FALSE(changed());
  EXPECT_THAT(probe_->live().value(), IsEmpty());
  EXPECT_FALSE(probe_->cold().value());
  EXPECT_FALSE(changed());
  write("");
  EXPECT_FALSE(changed());
  EXPECT_THAT(probe_->live().value(), IsEmpty());

  SqliteProcess worker(folder_.ledger());
  worker.run("PRAGMA journal_mode=WAL");  // a file without tables
  EXPECT_TRUE(changed());
  EXPECT_THAT(probe_->live().value(), IsEmpty());
  worker.run(kJobs + std::string("INSERT INTO jobs VALUES('k', 'pending', NULL, NULL)"));
  EXPECT_TRUE(changed());
  EXPECT_THAT(probe_->live().value(), ElementsAre(row("k", "pending", JobState::pending)));
  EXPECT_FALSE(changed());

  worker.close();
  fs::remove(folder_.ledger());
  EXPECT_TRUE(changed());
  EXPECT_THAT(probe_->live().value(), IsEmpty());
}

TEST_F(LedgerFile, ThatIsReplacedByOneOfAnotherEncodingIsReadAsBefore) {
  for (const char* encoding : {"UTF-8", "UTF-16le", "UTF-16be"}) {
    fs::remove(folder_.ledger());
    const auto setup = fmt::format("PRAGMA encoding='{}'; {} INSERT INTO jobs VALUES('{}', 'pending', NULL, NULL);",
                                   encoding, kJobs, encoding);
    ASSERT_TRUE(create_ledger(config_of(setup, kRows), folder_.ledger()));
    EXPECT_THAT(probe_->live().value(), ElementsAre(row(encoding, "pending", JobState::pending)));
  }
}

TEST_F(LedgerFile, ThatIsNoDatabaseIsRefused) {
  write(std::string(8192, 'x'));
  EXPECT_TRUE(changed());
  EXPECT_THAT(error_of(probe_->live()), usage("no SQLite database", "encrypted"));
  write("short");
  EXPECT_THAT(error_of(probe_->live()), usage("no SQLite database", "encrypted"));
}

TEST_F(LedgerFile, ThatIsDamagedIsRefused) {
  SqliteProcess worker(folder_.ledger());
  worker.run(kJobs + std::string("INSERT INTO jobs VALUES('k', 'pending', NULL, NULL)"));
  worker.close();
  std::fstream file(folder_.ledger(), std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(4096) << std::string(4096, '\xff');
  file.close();
  EXPECT_THAT(error_of(probe_->live()), usage("is damaged", "journal_mode"));
}

TEST_F(LedgerFile, ThatIsAFifoOrAFolderDoesNotHangTheProbe) {
  ASSERT_EQ(::mkfifo(folder_.ledger().c_str(), 0600), 0);
  EXPECT_THAT(error_of(probe_->live()), usage("no regular file", "database file"));
  fs::remove(folder_.ledger());
  fs::create_directory(folder_.ledger());
  EXPECT_THAT(error_of(probe_->live()), usage("no regular file", "database file"));
}

TEST_F(LedgerFile, IsKnownByItsExactNames) {
  for (const char* ours : {"ledger.db", "ledger.db-wal", "ledger.db-shm", "ledger.db-journal", "./ledger.db"}) {
    EXPECT_TRUE(probe_->owns_file(ours)) << ours;
  }
  for (const char* other : {"", "ledger", "ledger.db-", "ledger.db-wal2", "a/ledger.db", "ledger.db/x", "Ledger.db"}) {
    EXPECT_FALSE(probe_->owns_file(other)) << other;
  }
  LedgerConfig config = config_of("", kRows);
  config.path = "./data//ledger.db";
  EXPECT_TRUE(make_ledger_probe(config, folder_.world(), folder_.scratch())->owns_file("data/ledger.db-wal"));
}

TEST_F(LedgerFile, LocksOfTransactionsAreToldFromThoseOfOpenConnections) {
  for (int byte = 120; byte < 128; ++byte) EXPECT_TRUE(locks("ledger.db-shm", byte, 1)) << byte;
  EXPECT_FALSE(locks("ledger.db-shm", 128, 1));
  EXPECT_FALSE(locks("ledger.db-shm", 119, 1));
  EXPECT_TRUE(locks("ledger.db-shm", 124, 4));
  EXPECT_TRUE(locks("ledger.db-shm", 0, 0));
  EXPECT_FALSE(locks("ledger.db-shm", 128, 0));
  EXPECT_TRUE(locks("ledger.db-shm", 128, -8));

  constexpr std::int64_t kPending = 0x40000000;
  for (const std::int64_t byte : {kPending, kPending + 1, kPending + 2, kPending + 511}) {
    EXPECT_TRUE(locks("ledger.db", byte, 1)) << byte;
  }
  EXPECT_TRUE(locks("ledger.db", kPending + 2, 510));
  EXPECT_FALSE(locks("ledger.db", kPending + 512, 1));
  EXPECT_FALSE(locks("ledger.db", kPending - 1, 1));
  EXPECT_FALSE(locks("ledger.db-wal", kPending, 1));
  EXPECT_FALSE(locks("ledger.db-journal", kPending, 1));
  EXPECT_FALSE(locks("other.db", kPending, 1));

  SqliteProcess worker(folder_.ledger());
  worker.run(std::string("PRAGMA journal_mode=WAL;") + kJobs);
  EXPECT_FALSE(locks("ledger.db", kPending + 2, 510)) << "held for as long as the connection is open";
  EXPECT_TRUE(locks("ledger.db-shm", 120, 1));
  worker.close();
  EXPECT_FALSE(locks("ledger.db", kPending + 2, 510)) << "the next opener will use a log";
}

TEST_F(LedgerFile, IsCompleteByItselfAfterSettingUp) {
  for (const char* mode : {"WAL", "PERSIST", "DELETE"}) {
    const TestFolder folder;
    const auto config = config_of(fmt::format("PRAGMA journal_mode={}; {}", mode, kJobs), kRows);
    ASSERT_TRUE(create_ledger(config, folder.ledger()));
    const auto files = files_in(folder.world());
    ASSERT_THAT(files, ElementsAre(::testing::Key("ledger.db"))) << mode;
    EXPECT_EQ(files.at("ledger.db").at(18), std::string(mode) == "WAL" ? 2 : 1);
    EXPECT_GT(files.at("ledger.db").size(), 4096u);
  }
}

TEST_F(LedgerFile, IsNotMadeWithoutASetup) {
  ASSERT_TRUE(create_ledger(config_of("", kRows), folder_.ledger()));
  EXPECT_THAT(files_in(folder_.world()), IsEmpty());
}

TEST_F(LedgerFile, IsMadeInAFolderOfItsOwn) {
  ASSERT_TRUE(create_ledger(config_of(kJobs, kRows), folder_.world() / "data" / "ledger.db"));
  EXPECT_TRUE(fs::exists(folder_.world() / "data" / "ledger.db"));
}

TEST_F(LedgerFile, AFailingSetupLeavesNothingBehind) {
  const auto failure = [&](const std::string& setup) {
    const auto created = create_ledger(config_of(setup, kRows), folder_.ledger());
    EXPECT_FALSE(created) << setup;
    EXPECT_THAT(files_in(folder_.world()), IsEmpty());
    return created ? Error{} : created.error();
  };
  EXPECT_THAT(failure(std::string(kJobs) + "INSERT INTO job VALUES(1)"), usage("no such table: job", "correct setup"));
  EXPECT_THAT(failure(std::string("PRAGMA journal_mode=WAL; BEGIN;") + kJobs), usage("left open", "correct setup"));
}

TEST_F(LedgerFile, ThatIsThereAlreadyIsNotOverwritten) {
  write("precious");
  const auto created = create_ledger(config_of(kJobs, kRows), folder_.ledger());
  ASSERT_FALSE(created);
  EXPECT_THAT(created.error(), usage("there already", "files of [world]"));
  EXPECT_EQ(files_in(folder_.world()).at("ledger.db"), "precious");
}

TEST(LedgerKind, ThatIsUnknownIsRefused) {
  const TestFolder folder;
  LedgerConfig config = config_of(kJobs, kRows);
  config.kind = "stone tablets";
  const auto created = create_ledger(config, folder.ledger());
  ASSERT_FALSE(created);
  EXPECT_THAT(created.error(), usage("stone tablets", "sqlite"));
  EXPECT_EQ(make_ledger_probe(config, folder.world(), folder.scratch()), nullptr);
}

}  // namespace
}  // namespace halfsent
