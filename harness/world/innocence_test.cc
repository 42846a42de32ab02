// The harness is innocent: what it kills leaves what the same kill leaves without it, and looking changes nothing.
//
// The oracle is strace, which ends a process at the entry of a system call just as the harness does, and nothing else.
#include <SQLiteCpp/SQLiteCpp.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "harness/core/boundary.h"
#include "harness/explore/strategy.h"
#include "harness/world/ledger_probe.h"
#include "harness/world/world_test_support.h"

namespace halfsent {
namespace {

namespace fs = std::filesystem;
using testing::Contains;
using testing::Not;
using testing::SizeIs;

constexpr std::array<std::string_view, 4> calls = {"pwrite64", "fdatasync", "unlink", "ftruncate"};

// Claims and marks until nothing is left. Marking empties the payload, whose pages a commit then cuts off the file.
constexpr const char* worker = R"(
import http.client, sqlite3, sys, time
time.sleep(float(sys.argv[1]))
db = sqlite3.connect('ledger.db', timeout=60, isolation_level=None)
db.execute('PRAGMA synchronous = FULL')
while True:
    db.execute('BEGIN IMMEDIATE')
    row = db.execute("SELECT k FROM jobs WHERE s = 'pending' ORDER BY k LIMIT 1").fetchone()
    if row is None:
        db.execute('COMMIT')
        break
    db.execute("UPDATE jobs SET s = 'leased', a = a + 1 WHERE k = ?", row)
    db.execute('COMMIT')
    if len(sys.argv) > 2:
        c = http.client.HTTPConnection('127.0.0.1', 8080)
        c.request('POST', '/send', 'body', {'Idempotency-Key': row[0]})
        c.getresponse().read()
        c.close()
    db.execute("UPDATE jobs SET s = 'done', p = NULL WHERE k = ? AND s = 'leased'", row)
db.close()
)";

// Stays connected while the other one dies, and reads again when it is told or, in a world, after a while.
constexpr const char* survivor = R"(
import sqlite3, sys, time
db = sqlite3.connect('ledger.db', timeout=60, isolation_level=None)
def rows():
    return ' '.join(f'{k}={s}/{a}' for k, s, a in db.execute('SELECT k, s, a FROM jobs ORDER BY k'))
rows()
print('ready', flush=True)
sys.stdin.readline() if sys.argv[1] == 'told' else time.sleep(10)
print(rows())
db.close()
)";

// The same two without a harness: says how the worker ended and what the survivor has seen.
constexpr const char* oracle = R"(
import subprocess, sys
how, when = sys.argv[1:]
PIPE = subprocess.PIPE
other = subprocess.Popen(['python3', '-B', 'survivor.py', 'told'], stdin=PIPE, stdout=PIPE, text=True)
print(other.stdout.readline(), end='', flush=True)
died = subprocess.run(['strace', '-f', '-qq', '-o', '/dev/null', '-e', 'trace=fdatasync', '-e',
                       'inject=fdatasync:signal=KILL:when=' + when, 'python3', '-B', 'worker.py', '0'])
if how == 'all':
    other.kill()
    other.wait()
else:
    print(other.communicate('go\n')[0], end='')
print(died.returncode)
)";

// A system call as a plain trace shows it, in the words of a Stopped event.
struct Traced {
  Stopped stop;
  int number = 0;  // the n-th of this call, of whatever file
};

std::string text_of(const Stopped& stop) {
  return stop.call + " " + stop.object + " " + stop.detail + " " + std::to_string(stop.bytes);
}

// What is left: the files, and the rows that the next one who opens the ledger finds. Never opens the ledger itself.
struct Remains {
  std::set<std::string> files;
  std::string rows;
  friend bool operator==(const Remains&, const Remains&) = default;
};

void PrintTo(const Remains& remains, std::ostream* out) {
  for (const std::string& file : remains.files) *out << file << " ";
  *out << "with " << remains.rows;
}

class Innocence : public Worlds {
 protected:
  void SetUp() override {
    Worlds::SetUp();
    write("worker.py", worker);
    write("survivor.py", survivor);
    write("oracle.py", oracle);
  }

  [[nodiscard]] Scenario ledger_scenario(const std::vector<Command>& commands, const std::string& mode) const {
    Scenario scenario = Worlds::scenario(commands);
    scenario.ledger.setup =
        "PRAGMA auto_vacuum = FULL; PRAGMA journal_mode = " + mode +
        "; CREATE TABLE jobs (k TEXT PRIMARY KEY, s TEXT, a INTEGER, p BLOB);"
        "INSERT INTO jobs VALUES ('k1', 'pending', 0, zeroblob(9000)), ('k2', 'pending', 0, zeroblob(9000));";
    scenario.ledger.rows = "SELECT k AS key, s AS state, a AS attempts FROM jobs";
    return scenario;
  }

  // A fresh ledger beside the programs, as a world has it.
  void reset_real_ledger(const Scenario& scenario) const {
    for (const char* end : {"", "-wal", "-shm", "-journal"}) fs::remove(files() / ("ledger.db" + std::string(end)));
    const Result<void> made = create_ledger(scenario.ledger, files() / "ledger.db");
    ASSERT_TRUE(made) << made.error().to_string();
  }

  [[nodiscard]] Remains remains_of(const fs::path& folder) const {
    Remains remains;
    const fs::path copy = folder_ / "copy";
    fs::remove_all(copy);
    fs::create_directory(copy);
    for (const auto& entry : fs::directory_iterator(folder)) {
      const std::string name = entry.path().filename().string();
      if (!name.starts_with("ledger.db")) continue;
      remains.files.insert(name);
      // The index of the log is of those who were connected: the next one makes its own.
      if (!name.ends_with("-shm")) fs::copy_file(entry.path(), copy / name);
    }
    SQLite::Database database((copy / "ledger.db").string(), SQLite::OPEN_READWRITE);
    SQLite::Statement query(database,
                            "SELECT k || '=' || s || '/' || a || '/' || ifnull(length(p), 0) FROM jobs ORDER BY k");
    while (query.executeStep()) remains.rows += query.getColumn(0).getString() + " ";
    remains.rows += database.execAndGet("PRAGMA integrity_check").getString();
    return remains;
  }

  [[nodiscard]] fs::path files() const { return folder_ / "files"; }
};

// Tests that ask the oracle.
class InnocentKills : public Innocence {
 protected:
  void SetUp() override {
    Innocence::SetUp();
    if (run_really(shell("command -v strace")).exit_code != 0)
      GTEST_SKIP() << "strace is not installed: kills cannot be compared with kills without the harness";
  }

  [[nodiscard]] std::vector<Traced> trace_really(const Scenario& scenario) const;
  [[nodiscard]] Remains killed_really(const Scenario& scenario, const Traced& at) const;
  void expect_the_same_remains(const std::string& mode);
  void expect_the_same_fate(const Fault& fault, int number, const std::string& how, const Scenario& scenario);
};

// The calls on files of the ledger that a clean run makes without a harness.
std::vector<Traced> InnocentKills::trace_really(const Scenario& scenario) const {
  reset_real_ledger(scenario);
  const std::string trace = (folder_ / "trace").string();
  const RealRun clean =
      run_really({"strace", "-f", "-qq", "-y", "-s", "0", "-e", "trace=pwrite64,fdatasync,unlink,ftruncate", "-o",
                  trace, "python3", "-B", "worker.py", "0"});
  EXPECT_EQ(clean.exit_code, 0) << clean.output;
  const std::regex form(R"re(^\d+ +(\w+)\((?:\d+<([^>]*)>|"([^"]*)")(.*)\) += \d+$)re");
  const std::regex last_numbers(R"((?:, (\d+))?, (\d+)$)");
  std::vector<Traced> traced;
  std::map<std::string, int> counts;
  std::ifstream in(trace);
  for (std::string line; std::getline(in, line);) {
    std::smatch parts;
    if (!std::regex_match(line, parts, form)) {
      ADD_FAILURE() << "strace says " << line;
      continue;
    }
    Traced one{.stop = {.call = parts[1]}, .number = ++counts[parts[1]]};
    const fs::path path = parts[2].matched ? parts[2].str() : parts[3].str();
    if (path.parent_path() != fs::canonical(files()) && path != fs::canonical(files())) continue;
    one.stop.object = path == fs::canonical(files()) ? "../cwd" : path.filename().string();
    if (one.stop.object.ends_with("-shm")) continue;  // the index of the log is no part of what a crash leaves
    const std::string arguments = parts[4];
    std::smatch numbers;
    if (std::regex_search(arguments, numbers, last_numbers)) {
      one.stop.detail = (one.stop.call == "pwrite64" ? "offset " : "to ") + numbers[2].str();
      if (one.stop.call == "pwrite64") one.stop.bytes = std::stoull(numbers[1]);
    }
    traced.push_back(std::move(one));
  }
  return traced;
}

Remains InnocentKills::killed_really(const Scenario& scenario, const Traced& at) const {
  reset_real_ledger(scenario);
  const RealRun killed = run_really({"strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=" + at.stop.call, "-e",
                                     "inject=" + at.stop.call + ":signal=KILL:when=" + std::to_string(at.number),
                                     "python3", "-B", "worker.py", "0"});
  EXPECT_EQ(killed.exit_code, 128 + SIGKILL) << killed.output;
  return remains_of(files());
}

bool is_compared(const Stopped& stop) { return std::ranges::find(calls, stop.call) != calls.end(); }

// Ten of them: the first and the last of each call, since what is rare tells most, and some from between.
std::vector<std::size_t> ten_of(const std::vector<const Event*>& stops) {
  std::set<std::size_t> chosen;
  for (const std::string_view call : calls) {
    std::vector<std::size_t> of_call;
    for (std::size_t i = 0; i < stops.size(); ++i)
      if (std::get<Stopped>(stops[i]->body).call == call) of_call.push_back(i);
    if (!of_call.empty()) chosen.insert({of_call.front(), of_call.back()});
  }
  for (std::size_t parts = 2; chosen.size() < std::min<std::size_t>(10, stops.size()); ++parts)
    for (std::size_t i = 1; i < parts && chosen.size() < 10; ++i) chosen.insert(i * stops.size() / parts);
  return {chosen.begin(), chosen.end()};
}

void InnocentKills::expect_the_same_remains(const std::string& mode) {
  const Scenario scenario = ledger_scenario({{"python3", "-B", "worker.py", "0"}}, mode);
  const std::vector<Traced> traced = trace_really(scenario);
  use(scenario);
  const Execution clean = run("restart a-1 never");
  std::vector<const Event*> stops = events_of<Stopped>(clean, "a-1");
  std::erase_if(stops, [](const Event* stop) { return !is_compared(std::get<Stopped>(stop->body)); });

  // Without a fault both do the same; so the n-th stop here is the n-th call there.
  std::vector<std::string> here;
  std::vector<std::string> there;
  for (const Event* stop : stops) here.push_back(text_of(std::get<Stopped>(stop->body)));
  for (const Traced& one : traced) there.push_back(text_of(one.stop));
  ASSERT_EQ(here, there);
  ASSERT_GE(stops.size(), 10U);
  EXPECT_EQ(remains_of(runner_->world_folder()), remains_of(files()));

  const std::vector<Boundary> boundaries = name_boundaries(clean.history);
  std::set<std::string> calls_killed_at;
  std::set<std::string> outcomes;
  const std::vector<std::size_t> chosen = ten_of(stops);
  EXPECT_THAT(chosen, SizeIs(10));
  for (const std::size_t index : chosen) {
    const Event& stop = *stops[index];
    SCOPED_TRACE(mode + ": " + here[index] + ", stop " + std::to_string(index + 1) + " of " +
                 std::to_string(stops.size()));
    const auto boundary = std::ranges::find(boundaries, stop.seq, &Boundary::seq);
    ASSERT_NE(boundary, boundaries.end());
    const Fault kill{
        .kind = FaultKind::kill, .target = "a-1", .at = anchor_for(FaultKind::kill, *boundary, boundaries)};
    const Execution killed = run("restart a-1 never; " + to_string(kill));
    ASSERT_FALSE(events_of<Stopped>(killed, "a-1").empty());
    EXPECT_EQ(*events_of<Stopped>(killed, "a-1").back(), stop);
    ASSERT_THAT(events_of<Ended>(killed, "a-1"), SizeIs(1));
    EXPECT_EQ(std::get<Ended>(events_of<Ended>(killed, "a-1")[0]->body), (Ended{Ended::How::killed_by_plan, SIGKILL}));
    const Remains remains = remains_of(runner_->world_folder());
    EXPECT_EQ(remains, killed_really(scenario, traced[index]));
    calls_killed_at.insert(std::get<Stopped>(stop.body).call);
    outcomes.insert(remains.rows);
  }
  EXPECT_THAT(calls_killed_at, SizeIs(calls.size()));
  EXPECT_THAT(outcomes, SizeIs(testing::Ge(4U)));  // a comparison of always the same rows would say little
}

TEST_F(InnocentKills, KillsInWalModeLeaveWhatTheyLeaveWithoutTheHarness) { expect_the_same_remains("WAL"); }
TEST_F(InnocentKills, KillsInDeleteModeLeaveWhatTheyLeaveWithoutTheHarness) { expect_the_same_remains("DELETE"); }

std::vector<std::string> effects_of(const Execution& execution) {
  std::vector<std::string> effects;
  for (const Event& event : execution.history.events)
    if (const auto* stop = std::get_if<Stopped>(&event.body)) effects.push_back(event.actor + " " + text_of(*stop));
  return effects;
}

template <class Body>
std::ptrdiff_t count_of(const Execution& execution) {
  return std::ranges::count_if(execution.history.events,
                               [](const Event& event) { return std::holds_alternative<Body>(event.body); });
}

TEST_F(Innocence, TheEffectsOfACleanRunAreTheSameWithTheProbeOnAndOff) {
  const Command sender = {"python3", "-B", "worker.py", "0", "send"};
  for (const char* mode : {"WAL", "DELETE"}) {
    SCOPED_TRACE(mode);
    use(ledger_scenario({sender, sender}, mode), {.probe = true});
    const Execution watched = run();
    const Remains left = remains_of(runner_->world_folder());
    use(ledger_scenario({sender, sender}, mode), {.probe = false});
    const Execution alone = run();
    EXPECT_EQ(effects_of(watched), effects_of(alone));
    EXPECT_EQ(left, remains_of(runner_->world_folder()));
    EXPECT_THAT(effects_of(watched), SizeIs(testing::Gt(40U)));
    EXPECT_EQ(count_of<Accepted>(watched), 2);
    EXPECT_GE(count_of<LedgerChanged>(watched), 6);  // it did look
    EXPECT_EQ(count_of<LedgerChanged>(alone), 0);
  }
}

// Kills a worker that has written its commit and not yet synced it, in a world and without one.
void InnocentKills::expect_the_same_fate(const Fault& fault, int number, const std::string& how,
                                         const Scenario& scenario) {
  SCOPED_TRACE(to_string(fault));
  const Execution killed = run("restart a-1 never; restart b-1 never; " + to_string(fault));
  const Remains here = remains_of(runner_->world_folder());
  reset_real_ledger(scenario);
  const RealRun really = run_really({"python3", "-B", "oracle.py", how, std::to_string(number)});
  EXPECT_EQ(here, remains_of(files()));
  EXPECT_EQ(output_of(killed, "b-1") + "-9\n", really.output);
  if (how == "all") {
    EXPECT_EQ(output_of(killed, "b-1"), "ready\n");
    EXPECT_EQ(here.rows, "k1=leased/1/9000 k2=pending/0/9000 ok");
    EXPECT_THAT(here.files, Contains("ledger.db-wal"));
  } else {
    EXPECT_EQ(output_of(killed, "b-1"), "ready\nk1=pending/0 k2=pending/0\n");
    EXPECT_EQ(here.rows, "k1=pending/0/9000 k2=pending/0/9000 ok");
    EXPECT_THAT(here.files, Not(Contains("ledger.db-wal")));  // the survivor has closed
  }
}

TEST_F(InnocentKills, AnUncertainCommitIsUndoneWhereSomebodyIsConnectedAndDoneWhereNobodyIs) {
  const Scenario scenario =
      ledger_scenario({{"python3", "-B", "worker.py", "1"}, {"python3", "-B", "survivor.py", "late"}}, "WAL");
  use(scenario);
  const Execution clean = run("restart a-1 never; restart b-1 never");
  const SweepPlan swept = sweep(clean.history, {.faults = {FaultKind::kill}});
  const auto all = std::ranges::find(swept.cells, "kill all", &SweepCell::column);
  ASSERT_NE(all, swept.cells.end()) << story(clean);
  const Seq seq = all->boundary->seq;
  const auto one = std::ranges::find_if(
      swept.cells, [&](const SweepCell& cell) { return cell.boundary->seq == seq && cell.column == "kill"; });
  ASSERT_NE(one, swept.cells.end());
  EXPECT_EQ(all->boundary->name, "in_claim");

  int number = 0;
  for (const Event* stop : events_of<Stopped>(clean, "a-1"))
    if (stop->seq <= seq && std::get<Stopped>(stop->body).call == "fdatasync") ++number;
  ASSERT_EQ(std::get<Stopped>(clean.history.events[seq].body).call, "fdatasync");
  expect_the_same_fate(one->faults.front(), number, "one", scenario);
  expect_the_same_fate(all->faults.front(), number, "all", scenario);
}

TEST_F(Innocence, AnUncertainDeletionIsInTheHistoryEvenOfTheLastRow) {
  use(ledger_scenario({python("import sqlite3\ndb = sqlite3.connect('ledger.db', isolation_level=None)\n"
                              "db.execute('PRAGMA synchronous = FULL')\n"
                              "db.execute(\"DELETE FROM jobs WHERE k = 'k1'\")\ndb.execute('DELETE FROM jobs')\n")},
                      "WAL"));
  const Execution execution = run();
  std::vector<CommitUncertain> uncertain;
  for (const Event* event : events_of<CommitUncertain>(execution, "a-1"))
    uncertain.push_back(std::get<CommitUncertain>(event->body));
  EXPECT_THAT(uncertain, testing::ElementsAre(CommitUncertain{"k1", JobState::pending, JobState::none},
                                              CommitUncertain{"k2", JobState::pending, JobState::none}));
}

}  // namespace
}  // namespace halfsent
