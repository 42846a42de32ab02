// Random histories of a ledger: after each step the probe sees what real connections see.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/world/ledger_probe.h"
#include "harness/world/ledger_sqlite_process.h"

namespace halfsent {
namespace {

using testing::SqliteProcess;
using testing::TestFolder;

constexpr const char* kRead = "SELECT k, s, a FROM jobs ORDER BY k";
constexpr const char* kReopen = "(close and open)";
constexpr const char* kKill = "(kill)";

std::string text_of(const std::vector<LedgerRow>& rows) {
  std::string text;
  for (const LedgerRow& row : rows) text += fmt::format("{}|{}|{}\n", row.key, row.raw_state, row.attempts);
  return text;
}

// Steps of a writer; most random orders contain some that SQLite refuses (a COMMIT outside of a transaction): no harm.
rc::Gen<std::string> statement() {
  const auto key = rc::gen::inRange(0, 12);
  return rc::gen::oneOf(
      rc::gen::map(
          key,
          [](int k) { return fmt::format("INSERT OR REPLACE INTO jobs VALUES('k{}', 'pending', {}, NULL)", k, k); }),
      rc::gen::map(key,
                   [](int k) { return fmt::format("UPDATE jobs SET s = 'leased', a = a + 1 WHERE k = 'k{}'", k); }),
      rc::gen::map(key, [](int k) { return fmt::format("DELETE FROM jobs WHERE k = 'k{}'", k); }),
      rc::gen::map(
          key,
          [](int k) {
            return fmt::format(
                "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 12) INSERT OR REPLACE "
                "INTO jobs SELECT 'big' || i, 'pending', {}, zeroblob(1500) FROM n",
                k);
          }),
      rc::gen::element<std::string>("BEGIN IMMEDIATE", "BEGIN IMMEDIATE", "COMMIT", "COMMIT", "ROLLBACK", "SAVEPOINT s",
                                    "ROLLBACK TO s", "DELETE FROM jobs", "VACUUM", kReopen, kKill,
                                    "PRAGMA cache_size=1", "PRAGMA cache_size=100", "PRAGMA synchronous=OFF",
                                    "PRAGMA synchronous=FULL"));
}

rc::Gen<std::string> log_step() {
  return rc::gen::weightedOneOf<std::string>(
      {{4, statement()},
       {1, rc::gen::element<std::string>("PRAGMA wal_checkpoint(PASSIVE)", "PRAGMA wal_checkpoint(RESTART)",
                                         "PRAGMA wal_checkpoint(TRUNCATE)", "PRAGMA wal_autocheckpoint=3")}});
}

rc::Gen<std::string> any_mode_step() {
  return rc::gen::weightedOneOf<std::string>(
      {{4, log_step()},
       {1, rc::gen::element<std::string>("PRAGMA journal_mode=WAL", "PRAGMA journal_mode=DELETE",
                                         "PRAGMA journal_mode=TRUNCATE", "PRAGMA journal_mode=PERSIST")}});
}

class World {
 public:
  explicit World(const std::string& mode) {
    writer_->run("PRAGMA journal_mode=" + mode);
    writer_->run("CREATE TABLE jobs(k TEXT PRIMARY KEY, s TEXT, a INTEGER, filler BLOB)");
    LedgerConfig config;
    config.path = "ledger.db";
    config.rows = "SELECT k AS key, s AS state, a AS attempts FROM jobs";
    probe_ = make_ledger_probe(config, folder_.world(), folder_.scratch());
  }

  void take(const std::string& step) {
    if (step == kReopen) return writer_->close();
    if (step == kKill) return writer_.emplace(folder_.ledger()), void();
    writer_->run(step);
  }

  // Also checks that changed() has announced a change.
  std::string live() {
    const bool announced = probe_->changed().value();
    std::string now = text_of(probe_->live().value());
    RC_ASSERT(announced || now == last_);
    RC_ASSERT(!probe_->changed().value());
    return last_ = now;
  }

  std::string cold() {
    const auto rows = probe_->cold().value();
    return rows ? text_of(*rows) : live();
  }

  const TestFolder& folder() const { return folder_; }

 private:
  TestFolder folder_;
  std::optional<SqliteProcess> writer_{std::in_place, folder_.ledger()};
  std::unique_ptr<LedgerProbe> probe_;
  std::string last_;
};

std::vector<std::string> generate(rc::Gen<std::string> step) {
  return *rc::gen::resize(40, rc::gen::container<std::vector<std::string>>(std::move(step)));
}

RC_GTEST_PROP(LedgerProbeSqliteProperty, InALogTheLiveViewIsWhatAConnectedReaderReads, ()) {
  World world("WAL");
  SqliteProcess reader(world.folder().ledger());
  SqliteProcess pinned(world.folder().ledger());  // an old snapshot keeps checkpoints from finishing
  int steps = 0;
  for (const std::string& step : generate(log_step())) {
    world.take(step);
    if (++steps % 7 == 0) pinned.run(steps % 2 == 0 ? "COMMIT" : "BEGIN; SELECT count(*) FROM jobs");
    RC_ASSERT(world.live() == reader.run(kRead).value());
  }
}

RC_GTEST_PROP(LedgerProbeSqliteProperty, InAnyModeBothViewsAreWhatTheNextOpenerFinds, ()) {
  World world("DELETE");
  SqliteProcess opener("");
  for (const std::string& step : generate(any_mode_step())) {
    world.take(step);
    opener.open_next(world.folder().copy_as_after_a_crash());
    const std::string expected = opener.run(kRead).value();
    RC_ASSERT(world.live() == expected);
    RC_ASSERT(world.cold() == expected);
  }
}

}  // namespace
}  // namespace halfsent
