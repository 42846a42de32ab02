// What the probe sees while other processes commit, checkpoint, roll back and die, against what real connections see.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "harness/world/ledger_probe.h"
#include "harness/world/ledger_sqlite_process.h"

namespace halfsent {
namespace {

using testing::files_in;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::SqliteProcess;
using ::testing::StartsWith;
using testing::TestFolder;
namespace fs = std::filesystem;

constexpr const char* kCreate = "CREATE TABLE jobs(k TEXT PRIMARY KEY, s TEXT, a INTEGER, filler BLOB);";
constexpr const char* kRead =
    "SELECT coalesce(group_concat(k || '=' || s || '/' || a, ' '), '') FROM (SELECT * FROM jobs ORDER BY k)";

LedgerConfig config() {
  LedgerConfig config;
  config.path = "ledger.db";
  config.rows = "SELECT k AS key, s AS state, a AS attempts FROM jobs";
  config.states = {{"pending", JobState::pending}, {"leased", JobState::leased}};
  return config;
}

std::string text_of(const Result<std::vector<LedgerRow>>& rows) {
  if (!rows) return "error: " + rows.error().to_string();
  std::string text;
  for (const LedgerRow& row : *rows) {
    text += fmt::format("{}{}={}/{}", text.empty() ? "" : " ", row.key, row.raw_state, row.attempts);
  }
  return text + "\n";
}

// The cold view: as the probe gives it, or the live view when it says that they cannot differ.
std::string cold_text_of(LedgerProbe& probe) {
  auto cold = probe.cold();
  if (!cold) return "error: " + cold.error().to_string();
  return *cold ? text_of(**cold) : text_of(probe.live());
}

std::string insert(int key, std::string_view state = "pending") {
  return fmt::format("INSERT OR REPLACE INTO jobs VALUES('k{:03}', '{}', 1, NULL);", key, state);
}

// Far more than a page cache of one page holds, so that it reaches the file before it is committed.
std::string insert_many(int from, int count) {
  return fmt::format(
      "WITH RECURSIVE n(i) AS (SELECT {} UNION ALL SELECT i + 1 FROM n WHERE i + 1 < {}) "
      "INSERT OR REPLACE INTO jobs SELECT printf('k%03d', i), 'pending', 0, zeroblob(1500) FROM n;",
      from, from + count);
}

constexpr const char* kSmallCache = "PRAGMA cache_size=1; PRAGMA cache_spill=1;";

class LedgerProbeSqlite : public ::testing::Test {
 protected:
  std::string run(SqliteProcess& process, const std::string& sql) {
    const auto reply = process.run(sql);
    EXPECT_TRUE(reply) << "died in " << sql;
    EXPECT_THAT(reply.value_or(""), Not(StartsWith("error"))) << sql;
    return reply.value_or("");
  }
  std::string live() { return text_of(probe_->live()); }
  std::string cold() { return cold_text_of(*probe_); }
  bool changed() { return probe_->changed().value(); }
  std::uintmax_t size(const char* suffix) { return fs::file_size(folder_.ledger().string() + suffix); }

  TestFolder folder_;
  std::unique_ptr<LedgerProbe> probe_ = make_ledger_probe(config(), folder_.world(), folder_.scratch());
};

TEST_F(LedgerProbeSqlite, AnUncommittedTransactionInTheLogIsNotSeenAndACommittedOneIs) {
  SqliteProcess writer(folder_.ledger());
  run(writer, std::string("PRAGMA journal_mode=WAL;") + kSmallCache + kCreate + insert(1));
  EXPECT_EQ(live(), "k001=pending/1\n");
  EXPECT_FALSE(changed());

  const auto before = size("-wal");
  run(writer, "BEGIN;" + insert_many(100, 50));
  ASSERT_GT(size("-wal"), before + 20 * 4096) << "the transaction has not reached the log: nothing is tested";
  EXPECT_FALSE(changed());
  EXPECT_EQ(live(), "k001=pending/1\n");
  EXPECT_EQ(cold(), "k001=pending/1\n");

  run(writer, "COMMIT");
  EXPECT_TRUE(changed());
  EXPECT_THAT(live(), HasSubstr(" k149=pending/0\n"));
  EXPECT_FALSE(changed());
}

TEST_F(LedgerProbeSqlite, ARolledBackTransactionThatStaysInTheLogIsInNeitherView) {
  SqliteProcess writer(folder_.ledger());
  run(writer, std::string("PRAGMA journal_mode=WAL;") + kSmallCache + kCreate + insert(1));
  run(writer, "BEGIN;" + insert_many(100, 50) + "ROLLBACK");
  EXPECT_EQ(live(), "k001=pending/1\n");
  EXPECT_FALSE(probe_->cold().value()) << "nothing is committed behind what readers see: no recovery is needed to know";
}

TEST_F(LedgerProbeSqlite, CheckpointsAndARestartedLogChangeNoRows) {
  SqliteProcess writer(folder_.ledger());
  run(writer, std::string("PRAGMA journal_mode=WAL;") + kCreate + insert(1));
  for (const char* kind : {"PASSIVE", "FULL", "RESTART", "TRUNCATE"}) {
    run(writer, insert(2, kind));
    const std::string expected = fmt::format("k001=pending/1 k002={}/1\n", kind);
    EXPECT_EQ(live(), expected);
    run(writer, fmt::format("PRAGMA wal_checkpoint({})", kind));
    EXPECT_EQ(live(), expected);
    EXPECT_EQ(cold(), expected);
  }
  run(writer, "PRAGMA wal_checkpoint(PASSIVE);" + insert(3, "in_a_log_started_again"));
  EXPECT_EQ(live(), "k001=pending/1 k002=TRUNCATE/1 k003=in_a_log_started_again/1\n");
  writer.close();
  EXPECT_FALSE(fs::exists(folder_.ledger().string() + "-wal"));
  EXPECT_EQ(live(), "k001=pending/1 k002=TRUNCATE/1 k003=in_a_log_started_again/1\n");
}

TEST_F(LedgerProbeSqlite, ALogThatShrinksTheDatabaseIsCutToItsSize) {
  SqliteProcess writer(folder_.ledger());
  run(writer, std::string("PRAGMA journal_mode=WAL;") + kCreate + insert_many(0, 100) + insert(500));
  run(writer, "PRAGMA wal_checkpoint(PASSIVE); DELETE FROM jobs WHERE k < 'k5'; VACUUM;");
  EXPECT_EQ(live(), "k500=pending/1\n");
}

TEST_F(LedgerProbeSqlite, EveryPageSizeIsRead) {
  for (const int page_size : {512, 1024, 4096, 32768, 65536}) {
    SCOPED_TRACE(page_size);
    TestFolder folder;
    SqliteProcess writer(folder.ledger());
    run(writer,
        fmt::format("PRAGMA page_size={}; PRAGMA journal_mode=WAL; {}", page_size, kCreate) + insert_many(0, 60));
    auto probe = make_ledger_probe(config(), folder.world(), folder.scratch());
    const std::string expected = run(writer, kRead);
    EXPECT_EQ(text_of(probe->live()), expected);
    EXPECT_EQ(cold_text_of(*probe), expected);
  }
}

TEST_F(LedgerProbeSqlite, ALogThatNobodyHasOpenedSinceIsRecoveredInACopy) {
  {
    SqliteProcess writer(folder_.ledger());
    run(writer, std::string("PRAGMA journal_mode=WAL;") + kCreate + insert(1));
  }
  fs::remove(folder_.ledger().string() + "-shm");
  const auto before = files_in(folder_.world());
  EXPECT_EQ(live(), "k001=pending/1\n");
  EXPECT_FALSE(changed());
  EXPECT_FALSE(probe_->cold().value());
  EXPECT_EQ(files_in(folder_.world()), before);
  EXPECT_TRUE(files_in(folder_.scratch()).empty());
}

TEST_F(LedgerProbeSqlite, AWalIndexThatIsDamagedIsNotBelieved) {
  SqliteProcess writer(folder_.ledger());
  run(writer, std::string("PRAGMA journal_mode=WAL;") + kCreate + insert(1) + insert(2));
  {
    std::fstream index(folder_.ledger().string() + "-shm", std::ios::in | std::ios::out | std::ios::binary);
    for (const int copy : {0, 48}) index.seekp(copy + 16).put('\1');  // one frame only, with the old checksum
  }
  EXPECT_EQ(live(), "k001=pending/1 k002=pending/1\n");
}

TEST_F(LedgerProbeSqlite, FramesOfALogThatTheWalIndexDoesNotKnowAreNotTakenForCommitted) {
  SqliteProcess writer(folder_.ledger());
  run(writer, std::string("PRAGMA journal_mode=WAL;") + kCreate + "PRAGMA wal_checkpoint(TRUNCATE);" + insert(1));
  const TestFolder other;
  SqliteProcess other_writer(other.ledger());
  run(other_writer, std::string("PRAGMA journal_mode=WAL;") + kCreate + "PRAGMA wal_checkpoint(TRUNCATE);" + insert(2));
  ASSERT_EQ(size("-wal"), fs::file_size(other.ledger().string() + "-wal"));
  // As a careless restore of a backup leaves it: another log, the old wal-index.
  writer.kill();
  fs::copy_file(other.ledger().string() + "-wal", folder_.ledger().string() + "-wal",
                fs::copy_options::overwrite_existing);
  EXPECT_EQ(live(), "\n");
  EXPECT_EQ(cold(), "k002=pending/1\n");
}

TEST_F(LedgerProbeSqlite, ConnectionsInExclusiveLockingModeAreFollowed) {
  SqliteProcess writer(folder_.ledger());
  run(writer, std::string("PRAGMA locking_mode=EXCLUSIVE; PRAGMA journal_mode=WAL;") + kSmallCache + kCreate);
  ASSERT_FALSE(fs::exists(folder_.ledger().string() + "-shm"));
  run(writer, insert(1));
  EXPECT_EQ(live(), "k001=pending/1\n");
  run(writer, "BEGIN;" + insert_many(100, 50));
  EXPECT_EQ(live(), "k001=pending/1\n");
  run(writer, "ROLLBACK;" + insert(2));
  EXPECT_TRUE(changed());
  EXPECT_EQ(live(), "k001=pending/1 k002=pending/1\n");
}

class RollbackMode : public LedgerProbeSqlite, public ::testing::WithParamInterface<const char*> {
 protected:
  void SetUp() override {
    run(writer_, fmt::format("PRAGMA journal_mode={}; {}{}", GetParam(), kSmallCache, kCreate) + insert_many(0, 60));
    run(writer_, insert(500));
  }
  SqliteProcess writer_{folder_.ledger()};
};
INSTANTIATE_TEST_SUITE_P(Journal, RollbackMode, ::testing::Values("DELETE", "TRUNCATE", "PERSIST"));

TEST_P(RollbackMode, TheLastCommittedRowsStandWhileATransactionWritesIntoTheFile) {
  const std::string committed = live();
  const auto before = files_in(folder_.world());
  run(writer_, "BEGIN; UPDATE jobs SET s = 'leased', filler = zeroblob(1400);");
  ASSERT_NE(files_in(folder_.world())["ledger.db"], before.at("ledger.db")) << "nothing has spilled: nothing is tested";
  EXPECT_EQ(live(), committed);
  EXPECT_FALSE(changed());
  run(writer_, "UPDATE jobs SET s = 'delivered', filler = zeroblob(1300);");
  EXPECT_FALSE(changed());
  EXPECT_EQ(live(), committed);
  EXPECT_EQ(cold(), committed);
  run(writer_, "COMMIT");
  EXPECT_TRUE(changed());
  EXPECT_EQ(live(), run(writer_, kRead));
  EXPECT_NE(live(), committed);
  EXPECT_FALSE(probe_->cold().value());
}

TEST_P(RollbackMode, AProbeThatComesLateReadsTheCommittedRowsThroughTheHotJournal) {
  const std::string committed = run(writer_, kRead);
  run(writer_, "BEGIN; UPDATE jobs SET s = 'leased', filler = zeroblob(1400);");
  EXPECT_EQ(live(), committed);
  EXPECT_FALSE(changed());
}

TEST_P(RollbackMode, ACommitBetweenTwoLooksIsNotHiddenByTheNextTransaction) {
  const std::string first = live();
  run(writer_, "UPDATE jobs SET s = 'leased';");
  const std::string second = run(writer_, kRead);
  run(writer_, "BEGIN; UPDATE jobs SET s = 'delivered', filler = zeroblob(1400);");
  EXPECT_TRUE(changed());
  EXPECT_EQ(live(), second);
  EXPECT_NE(first, second);
}

TEST_P(RollbackMode, ACommitBetweenLooksInsideTwoTransactionsIsSeen) {
  const std::string in_flight = "BEGIN; UPDATE jobs SET s = s || '+', filler = zeroblob(1400);";
  run(writer_, in_flight);
  const std::string first = live();
  run(writer_, "COMMIT");
  const std::string second = run(writer_, kRead);
  run(writer_, in_flight);
  EXPECT_TRUE(changed());
  EXPECT_EQ(live(), second);
  EXPECT_NE(first, second);
}

TEST_P(RollbackMode, AfterAKillInATransactionBothViewsAreWhatTheNextOpenerFinds) {
  const std::string committed = run(writer_, kRead);
  run(writer_, "BEGIN; UPDATE jobs SET s = 'leased', filler = zeroblob(1400);");
  writer_.kill();
  const auto before = files_in(folder_.world());
  EXPECT_EQ(live(), committed);
  ASSERT_TRUE(probe_->cold().value()) << "a hot journal must be recovered to know";
  EXPECT_EQ(cold(), committed);
  EXPECT_EQ(files_in(folder_.world()), before);
  EXPECT_TRUE(files_in(folder_.scratch()).empty());

  SqliteProcess next(folder_.ledger());
  EXPECT_EQ(run(next, kRead), committed);
  EXPECT_EQ(live(), committed);
}

// Kills a writer right after each write of `transaction` in turn, until it gets through. Returns how often the views
// differed.
struct Sweep {
  std::string open;  // for each connection
  std::string prelude;
  std::string transaction;
  bool in_new_log = false;  // the transaction's are the first writes of a log
};

int count_uncertain_deaths(const Sweep& sweep) {
  int uncertain = 0;
  for (int n = 1; n < 200; ++n) {
    SCOPED_TRACE(fmt::format("death after write {}", n));
    TestFolder folder;
    SqliteProcess writer(folder.ledger());
    EXPECT_THAT(writer.run(sweep.open + kCreate + insert_many(0, 20)).value_or("died"), Not(HasSubstr("error")));
    if (sweep.in_new_log) writer.close();
    SqliteProcess survivor(folder.ledger());
    EXPECT_TRUE(survivor.run(sweep.open + kRead));
    EXPECT_THAT(writer.run(sweep.prelude).value_or("died"), Not(HasSubstr("error")));
    auto early = make_ledger_probe(config(), folder.world(), folder.scratch());
    const std::string before = text_of(early->live());

    writer.die_after_effect(n);
    const bool survived = writer.run(sweep.transaction).has_value();
    const std::string live = text_of(early->live());
    const std::string cold = cold_text_of(*early);
    const auto files = files_in(folder.world());
    auto late = make_ledger_probe(config(), folder.world(), folder.scratch());
    EXPECT_EQ(text_of(late->live()), live);
    EXPECT_EQ(cold_text_of(*late), cold);
    EXPECT_EQ(files_in(folder.world()), files) << "looking has changed the files";

    SqliteProcess next_opener(folder.copy_as_after_a_crash());
    EXPECT_EQ(next_opener.run(kRead).value_or("died"), cold);
    EXPECT_EQ(survivor.run(kRead).value_or("died"), live);
    if (survived) {
      EXPECT_GT(n, 2) << "the transaction has written next to nothing: nothing is tested";
      EXPECT_NE(live, before);
      return uncertain;
    }
    if (live != cold) ++uncertain;
  }
  ADD_FAILURE() << "the transaction never got through";
  return uncertain;
}

constexpr const char* kWal = "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;";

TEST(LedgerProbeSqliteDeath, InALogTheViewsAreWhatASurvivorAndTheNextOpenerFindAtEachWrite) {
  EXPECT_EQ(count_uncertain_deaths({.open = kWal, .prelude = insert(1), .transaction = insert(2) + insert(3)}), 2);
  EXPECT_EQ(count_uncertain_deaths({.open = kWal,
                                    .prelude = insert(1),
                                    .transaction = kSmallCache + ("BEGIN;" + insert_many(100, 9)) + "COMMIT"}),
            1);
}

TEST(LedgerProbeSqliteDeath, InANewLogTheViewsAreWhatASurvivorAndTheNextOpenerFindAtEachWrite) {
  EXPECT_EQ(count_uncertain_deaths({.open = kWal, .prelude = "", .transaction = insert(2), .in_new_log = true}), 1);
}

TEST(LedgerProbeSqliteDeath, InALogStartedAgainTheViewsAreWhatASurvivorAndTheNextOpenerFindAtEachWrite) {
  EXPECT_EQ(count_uncertain_deaths({.open = kWal,
                                    .prelude = insert(1) + "PRAGMA wal_checkpoint(PASSIVE);",
                                    .transaction = insert(2) + "PRAGMA wal_checkpoint(TRUNCATE);" + insert(3)}),
            2);
}

TEST(LedgerProbeSqliteDeath, InRollbackModesTheViewsNeverDiffer) {
  for (const char* mode : {"DELETE", "TRUNCATE", "PERSIST"}) {
    SCOPED_TRACE(mode);
    const std::string open = fmt::format("PRAGMA journal_mode={};", mode);
    EXPECT_EQ(count_uncertain_deaths({.open = open, .prelude = insert(1), .transaction = insert(2)}), 0);
    EXPECT_EQ(count_uncertain_deaths({.open = open,
                                      .prelude = insert(1),
                                      .transaction = kSmallCache + ("BEGIN;" + insert_many(100, 9)) +
                                                     "DELETE FROM jobs WHERE k < 'k01'; COMMIT"}),
              0);
  }
}

}  // namespace
}  // namespace halfsent
