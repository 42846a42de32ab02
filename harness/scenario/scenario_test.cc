#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <string_view>

#include "harness/scenario/scenario.h"
#include "harness/scenario/scenario_test_support.h"

namespace halfsent {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::Pair;

constexpr std::string_view full = R"toml([scenario]
name = "full"
description = "All of it."
on_doubt = "flag"
naive_twin = "naive.toml"
expect = "violated"
[world]
files = ["sut", "./sut/../schema.sql"]
lease = "90s"
horizon = "2h"
quiet = "1500ms"
[ledger]
kind = "sqlite"
path = "data/./ledger.db"
setup = "schema.sql"
setup_sql = "INSERT INTO jobs VALUES (1, 2)"
rows = "SELECT 1"
states = { pending = ["new", "again"], leased = ["leased"], delivered = ["done"], flagged = ["dead"] }
[contract]
recovery = "5min"
max_attempts = 7
failed = ["dead"]
eligible = ["a", "b"]
[downstream]
port = 65535
key = "path /send/{key}"
job = ["json job.digest_key", "header X-Job"]
honours_key = false
dedupe_window = "10min"
[[actor]]
name = "scheduler"
command = ["./scheduler"]
on_exit = "finished"
[[actor]]
name = "worker"
count = 64
command = ["python3", "worker.py", "{actor}"]
env = { MODE = "x=y", EMPTY = "" }
on_exit = "restart"
[sweep]
faults = ["drop", "term"]
)toml";

TEST_F(Scenarios, TheSmallestScenarioTakesItsDefaultsFromTheHeader) {
  const Result<Scenario> result = parse(small);
  ASSERT_TRUE(result) << result.error().to_string();
  EXPECT_EQ(result->name, "small");
  EXPECT_EQ(result->file, folder_ / "s.toml");
  EXPECT_EQ(result->on_doubt, OnDoubt::unstated);
  EXPECT_FALSE(result->expect_violation);
  EXPECT_EQ(result->lease, 60s);
  EXPECT_EQ(result->horizon, 30min);
  EXPECT_EQ(result->quiet, 3min);
  EXPECT_EQ(result->ledger.kind, "sqlite");
  EXPECT_EQ(result->ledger.setup, "CREATE TABLE jobs (k, s)");
  EXPECT_THAT(result->ledger.states, ElementsAre(Pair("done", JobState::delivered), Pair("leased", JobState::leased)));
  EXPECT_EQ(result->downstream.key, (KeySource{KeySource::Kind::header, "Idempotency-Key"}));
  EXPECT_TRUE(result->downstream.honours_key);
  EXPECT_EQ(result->downstream.dedupe_window, 24h);
  ASSERT_EQ(result->actors.size(), 1U);
  EXPECT_EQ(result->actors[0].count, 1);
  EXPECT_EQ(result->actors[0].on_exit, ActorConfig::OnExit::finished);
  EXPECT_EQ(result->sweep_faults, every_fault_kind());
  EXPECT_EQ(result->recovery, 0s);
  EXPECT_FALSE(result->max_attempts.has_value());
  EXPECT_TRUE(result->failed_words.empty());
  EXPECT_TRUE(result->eligible.empty());
}

TEST_F(Scenarios, EveryKeyReachesTheScenario) {
  const Result<Scenario> result = parse(full);
  ASSERT_TRUE(result) << result.error().to_string();
  EXPECT_EQ(result->recovery, 5min);
  EXPECT_EQ(result->max_attempts, 7);
  EXPECT_THAT(result->failed_words, ElementsAre("dead"));
  EXPECT_THAT(result->eligible, ElementsAre("a", "b"));
  EXPECT_EQ(result->description, "All of it.");
  EXPECT_EQ(result->on_doubt, OnDoubt::flag);
  EXPECT_EQ(result->naive_twin, "naive.toml");
  EXPECT_TRUE(result->expect_violation);
  EXPECT_THAT(result->files, ElementsAre(folder_ / "sut", folder_ / "schema.sql"));
  EXPECT_EQ(result->lease, 90s);
  EXPECT_EQ(result->horizon, 2h);
  EXPECT_EQ(result->quiet, 1500ms);
  EXPECT_EQ(result->ledger.path, "data/ledger.db");
  EXPECT_EQ(result->ledger.setup, "CREATE TABLE jobs (k, s);\nINSERT INTO jobs VALUES (1, 2)");
  EXPECT_EQ(result->ledger.rows, "SELECT 1");
  EXPECT_EQ(result->ledger.states.size(), 5U);
  EXPECT_EQ(result->ledger.states.at("again"), JobState::pending);
  EXPECT_EQ(result->ledger.states.at("dead"), JobState::flagged);
  EXPECT_EQ(result->downstream.port, 65535);
  EXPECT_EQ(result->downstream.key, (KeySource{KeySource::Kind::path, "/send/{key}"}));
  EXPECT_THAT(result->downstream.job, ElementsAre(KeySource{KeySource::Kind::json, "job.digest_key"},
                                                  KeySource{KeySource::Kind::header, "X-Job"}));
  EXPECT_FALSE(result->downstream.honours_key);
  EXPECT_EQ(result->downstream.dedupe_window, 10min);
  ASSERT_EQ(result->actors.size(), 2U);
  EXPECT_EQ(result->actors[0].name, "scheduler");
  EXPECT_EQ(result->actors[1].count, 64);
  EXPECT_THAT(result->actors[1].env, ElementsAre(Pair("EMPTY", ""), Pair("MODE", "x=y")));
  EXPECT_EQ(result->actors[1].on_exit, ActorConfig::OnExit::restart);
  EXPECT_THAT(result->sweep_faults, ElementsAre(FaultKind::drop, FaultKind::term));
}

TEST_F(Scenarios, BinInACommandIsTheFolderOfTheRunningProgramAndActorIsLeftToTheStart) {
  const Result<Scenario> result = parse(with(R"(["python3", "worker.py"])", R"(["${BIN}/worker", "$BIN", "{actor}"])"));
  ASSERT_TRUE(result) << result.error().to_string();
  const std::string here = fs::read_symlink("/proc/self/exe").parent_path().string();
  EXPECT_THAT(result->actors[0].command, ElementsAre(here + "/worker", "$BIN", "{actor}"));
}

TEST_F(Scenarios, BinInFilesFindsWhatIsBuiltBesideTheProgramAndSaysSoWhenItIsNot) {
  const std::string self = fs::read_symlink("/proc/self/exe").filename().string();
  const Result<Scenario> found = parse(std::string(small) + "[world]\nfiles = [\"${BIN}/" + self + "\"]\n");
  ASSERT_TRUE(found) << found.error().to_string();
  EXPECT_THAT(found->files, ElementsAre(fs::read_symlink("/proc/self/exe")));
  EXPECT_EQ(error(std::string(small) + "[world]\nfiles = [\"${BIN}/unbuilt\"]\n"),
            "s.toml:17:10: world.files: there is no file or folder \"${BIN}/unbuilt\" "
            "(build it first: ${BIN} is the folder of the running program)");
}

TEST_F(Scenarios, AScenarioIsLoadedFromItsFileWithAnAbsolutePath) {
  write("s.toml", small);
  const Result<Scenario> result = load_scenario(fs::relative(folder_ / "s.toml"));
  ASSERT_TRUE(result) << result.error().to_string();
  EXPECT_EQ(result->file, folder_ / "s.toml");
}

TEST_F(Scenarios, AFileThatCannotBeReadIsNamed) {
  EXPECT_EQ(load_scenario("no/such.toml").error().to_string(),
            "no/such.toml: cannot read the scenario: No such file or directory (name a .toml file that exists)");
  EXPECT_EQ(load_scenario(folder_).error().message, "a scenario is a file, and this is a folder");
}

TEST_F(Scenarios, EveryCutOfAScenarioIsParsedOrRefusedWithAPlace) {
  for (std::size_t size = 0; size < small.size(); ++size) {
    const Result<Scenario> result = parse(small.substr(0, size));
    const bool placed = result || (result.error().code == ExitCode::usage && result.error().line > 0);
    EXPECT_TRUE(placed) << "cut to " << size << " bytes";
  }
}

TEST_F(Scenarios, EveryDamagedByteIsParsedOrRefusedWithAPlace) {
  for (std::size_t at = 0; at < small.size(); ++at) {
    for (const char damage : {'\0', '\n', '"', '[', ']', '{', '}', '=', '.', '#', '7', '\x7f', '\x80', '\xff'}) {
      std::string text(small);
      text[at] = damage;
      const Result<Scenario> result = parse(text);
      const bool placed = result || (result.error().code == ExitCode::usage && result.error().line > 0);
      EXPECT_TRUE(placed) << "byte " << at << " is " << static_cast<int>(damage);
    }
  }
}

}  // namespace
}  // namespace halfsent
