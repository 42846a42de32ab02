// Faults of the ledger, each on real processes with an SQLite ledger.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "harness/world/world_test_support.h"

namespace halfsent {
namespace {

using namespace std::chrono_literals;
using testing::SizeIs;

// Counts attempts up and says what came of each write, one a second.
constexpr const char* writer = R"(
import os, sqlite3, time
d = sqlite3.connect('ledger.db', timeout=0, isolation_level=None)
for n in range(6):
    os.access(f'/halfsent/at/turn{n}/', 0)
    try:
        d.execute('BEGIN IMMEDIATE')
        d.execute("UPDATE jobs SET attempts = attempts + 1 WHERE key = 'k1'")
        d.execute('COMMIT')
        print('ok', end=' ', flush=True)
    except sqlite3.OperationalError as e:
        print(str(e), end='; ', flush=True)
        if d.in_transaction: d.execute('ROLLBACK')
    time.sleep(1)
print(d.execute('SELECT attempts FROM jobs').fetchone()[0])
)";

class LedgerFaults : public Worlds, public testing::WithParamInterface<const char*> {
 protected:
  Execution write_six(std::string_view faults) {
    Scenario s = scenario({python(writer)});
    s.ledger.setup = std::string("PRAGMA journal_mode = ") + GetParam() +
                     "; CREATE TABLE jobs (key TEXT PRIMARY KEY, state TEXT, attempts INTEGER DEFAULT 0);"
                     "INSERT INTO jobs (key, state) VALUES ('k1', 'pending');";
    s.ledger.rows = "SELECT key, state, attempts FROM jobs";
    use(s);
    return run(faults);
  }
};

TEST_P(LedgerFaults, WithoutAFaultEveryWriteIsThere) { EXPECT_EQ(output_of(write_six("")), "ok ok ok ok ok ok 6\n"); }

TEST_P(LedgerFaults, ABusyLedgerIsLockedForWritersUntilItsTimeIsOver) {
  const Execution execution = write_six("busy ledger at at:turn1 for 2500ms");
  EXPECT_EQ(output_of(execution), "ok database is locked; database is locked; database is locked; ok ok 3\n");
}

TEST_P(LedgerFaults, WhoHoldsTheWriteLockKeepsItWhenTheLedgerBecomesBusy) {
  const Execution execution = write_six("busy ledger at ledger_write for 1500ms");
  EXPECT_EQ(output_of(execution), "ok database is locked; ok ok ok ok 5\n");
}

TEST_P(LedgerFaults, AReadOnlyLedgerTakesNoWriteUntilItsTimeIsOver) {
  const Execution execution = write_six("read_only ledger at at:turn1 for 2500ms");
  const std::string said = output_of(execution);
  EXPECT_TRUE(said.ends_with("; ok ok 3\n")) << said;
}

TEST_P(LedgerFaults, AnIoErrorFailsOneCallOfOneActor) {
  for (const std::string error : {"EIO", "ENOSPC"}) {
    const Execution execution = write_six("io_error a-1 " + error + " at at:turn1");
    const std::string said = output_of(execution);
    EXPECT_TRUE(said.starts_with("ok ") && said.ends_with("; ok ok ok ok 5\n")) << error << ": " << said;
    EXPECT_THAT(events_of<FaultFired>(execution, "a-1"), SizeIs(1));
  }
}

TEST_F(Worlds, AnIoErrorThatMeetsNoWriteHasNotFired) {
  use(scenario(
      {python("import sqlite3; print(sqlite3.connect('ledger.db').execute('SELECT s FROM jobs').fetchone()[0])")}));
  const Execution execution = run("io_error a-1 EIO at ledger_lock");
  EXPECT_EQ(output_of(execution), "pending\n");
  EXPECT_THAT(events_of<FaultFired>(execution, "a-1"), SizeIs(0)) << story(execution);
}

TEST_P(LedgerFaults, AFailoverGoesOnWithWhatTheReplicaHas) {
  for (int lost = 0; lost <= 2; ++lost) {
    const Execution execution = write_six("failover ledger " + std::to_string(lost) + " at at:turn3");
    EXPECT_EQ(events_of<Started>(execution, "a-1").size(), 2u);
    EXPECT_EQ(output_of(execution, "a-1", 1), "ok ok ok ");
    EXPECT_EQ(output_of(execution, "a-1", 2), "ok ok ok ok ok ok " + std::to_string(3 - lost + 6) + "\n");
  }
}

TEST_P(LedgerFaults, TheSamePlanGivesTheSameHistory) {
  (void)write_six("failover ledger 1 at ledger_write #5; busy ledger at ledger_write #7 for 2s");
  (void)expect_one_digest("failover ledger 1 at ledger_write #5; busy ledger at ledger_write #7 for 2s");
}

INSTANTIATE_TEST_SUITE_P(Journals, LedgerFaults, testing::Values("wal", "delete", "truncate", "persist"),
                         [](const auto& journal) { return std::string(journal.param); });

// Two actors with three steps each: who does what when.
TEST_F(Worlds, ASwitchLetsEveryOtherGoOnUntilItWaits) {
  const std::string steps = R"(
import os
for n in range(4): open(f'{os.getpid()}.{n}', 'w').close()
)";
  const auto order = [&](std::string_view faults) {
    Scenario s = scenario({python(steps), python(steps)});
    use(s);
    std::string text;
    for (const Event& event : run(faults).history.events)
      if (std::holds_alternative<Stopped>(event.body)) text += event.actor[0];
    return text;
  };
  EXPECT_EQ(order(""), "abababab");
  EXPECT_EQ(order("switch a-1 at file_open #2"), "ababbbaa");
}

}  // namespace
}  // namespace halfsent
