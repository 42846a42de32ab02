// Each error of a scenario, word for word.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "harness/scenario/scenario.h"
#include "harness/scenario/scenario_test_support.h"

namespace halfsent {
namespace {

TEST_F(Scenarios, BrokenTomlIsReportedWhereItBreaks) {
  EXPECT_EQ(error("[scenario]\nname = \"small\n"),
            "s.toml:2:14: this is no TOML: Error while parsing string: unescaped control characters other than TAB "
            "(U+0009) are explicitly prohibited "
            "(see https://toml.io for the grammar)");
  EXPECT_EQ(error("[scenario]\nname = \"a\"\nname = \"b\"\n"),
            "s.toml:3:8: this is no TOML: Error while parsing key-value pair: cannot redefine existing string 'name' "
            "(see https://toml.io for the grammar)");
  EXPECT_THAT(error("name = \"\xff\"\n"), testing::StartsWith("s.toml:1:"));
  EXPECT_THAT(error(std::string(100000, '[')), testing::StartsWith("s.toml:1:"));
}

TEST_F(Scenarios, AMissingTableOrKeyIsNamedWithWhatToWrite) {
  EXPECT_EQ(error(""), "s.toml:1:1: the scenario has no [scenario] (write [scenario] with name)");
  EXPECT_EQ(error("[scenario]\nname = \"a\"\n"),
            "s.toml:1:1: the scenario has no [ledger] (write [ledger] with path, rows, states)");
  EXPECT_EQ(error_with("name = \"small\"\n", ""),
            "s.toml:1:1: [scenario] needs the key name (string: How plans call the scenario: letters, digits and : . _ "
            "- only.)");
  EXPECT_EQ(error_with("path = \"ledger.db\"\n", ""),
            "s.toml:4:1: [ledger] needs the key path (string: The ledger's file, relative to the world's folder.)");
  EXPECT_EQ(error_with("setup_sql = \"CREATE TABLE jobs (k, s)\"\n", ""),
            "s.toml:1:1: the ledger has no set-up (write ledger.setup (a file of SQL) or ledger.setup_sql)");
  EXPECT_EQ(
      error_with("name = \"worker\"\n", ""),
      "s.toml:13:1: [[actor]] needs the key name (string: The role. Its processes are called NAME-1 to NAME-count.)");
}

TEST_F(Scenarios, AtLeastOneActorIsNeeded) {
  const std::string none = std::string(small).substr(0, small.find("[[actor]]"));
  constexpr std::string_view expected = "s.toml:1:1: the scenario has no actor (write [[actor]] with name and command)";
  EXPECT_EQ(error(none), expected);
  EXPECT_EQ(error("actor = []\n" + none), expected);
}

TEST_F(Scenarios, AnUnknownKeyGetsTheNearestKnownOneOfItsTable) {
  EXPECT_EQ(error_with("rows", "rowz"), "s.toml:7:1: [ledger] has no key \"rowz\" (did you mean rows?)");
  EXPECT_EQ(error_with("command", "comand"), "s.toml:15:1: [[actor]] has no key \"comand\" (did you mean command?)");
  EXPECT_EQ(error_with("port = 8080", "zzzzzzzzzzzzzzz = 1"),
            "s.toml:11:1: [downstream] has no key \"zzzzzzzzzzzzzzz\" "
            "(expected one of port, key, job, honours_key, dedupe_window, key_lag, accepted_status, known_key_status)");
}

TEST_F(Scenarios, AKeyOfAnotherTableIsSentThere) {
  EXPECT_EQ(error_with("port = 8080", "lease = \"60s\""),
            "s.toml:11:1: [downstream] has no key \"lease\" (lease belongs in [world])");
  EXPECT_EQ(error("count = 3\n" + std::string(small)),
            "s.toml:1:1: a scenario has no key outside a table \"count\" (count belongs in [[actor]])");
}

TEST_F(Scenarios, AnUnknownTableGetsTheNearestKnownOne) {
  EXPECT_EQ(error_with("[ledger]", "[legder]"),
            "s.toml:4:2: a scenario has no table \"legder\" (did you mean ledger?)");
  EXPECT_EQ(error_with("[[actor]]", "[[actors]]"),
            "s.toml:13:3: a scenario has no table \"actors\" (did you mean actor?)");
}

TEST_F(Scenarios, TheFirstMistakeInTheFileIsTheOneShown) {
  std::string faults;
  for (const FaultInfo& fault : fault_table()) faults += (faults.empty() ? "" : ", ") + std::string(fault.name);
  EXPECT_EQ(error("[sweep]\nfaults = [\"explode\"]\n[scenario]\nnam = \"x\"\n"),
            "s.toml:2:11: sweep.faults knows no \"explode\" (expected one of " + faults + ")");
}

TEST_F(Scenarios, ATableOfTheWrongFormIsNamedWithTheRightOne) {
  EXPECT_EQ(error_with("[[actor]]", "[actor]"),
            "s.toml:13:1: actor must be a list of tables, not a table (write [[actor]])");
  EXPECT_EQ(error_with("[ledger]", "[[ledger]]"),
            "s.toml:4:1: ledger must be a table, not a list of tables (write [ledger])");
  EXPECT_EQ(error("sweep = 3\n" + std::string(small)),
            "s.toml:1:9: sweep must be a table, not an integer (write [sweep])");
}

TEST_F(Scenarios, AValueOfTheWrongTypeIsNamedWithTheRightType) {
  EXPECT_EQ(error_with("\"small\"", "7"), "s.toml:2:8: scenario.name must be a string, not an integer");
  EXPECT_EQ(error_with("8080", "\"8080\""), "s.toml:11:8: downstream.port must be a whole number, not a string");
  EXPECT_EQ(error_with("8080", "80.5"),
            "s.toml:11:8: downstream.port must be a whole number, not a number with a fraction");
  EXPECT_EQ(error_with("port = 8080", "honours_key = 1"),
            "s.toml:11:15: downstream.honours_key must be true or false, not an integer");
  EXPECT_EQ(error_with(R"(["python3", "worker.py"])", R"("python3 worker.py")"),
            "s.toml:15:11: actor.command must be a list of strings, not a string (write [\"...\"])");
  EXPECT_EQ(error_with(R"("worker.py"])", "5]"), "s.toml:15:23: actor.command must be a string, not an integer");
  EXPECT_EQ(error_with(R"(["done"])", R"("done")"),
            "s.toml:8:45: ledger.states.delivered must be a list of strings, not a string (write [\"...\"])");
  EXPECT_EQ(error(std::string(small) + "env = { A = 1 }\n"),
            "s.toml:16:13: actor.env.A must be a string, not an integer");
  EXPECT_EQ(error(std::string(small) + "env = 2026-08-10\n"),
            "s.toml:16:7: actor.env must be a table of strings, not a date or time");
}

TEST_F(Scenarios, DurationsAreStringsWithAUnitAndLongerThanNothing) {
  const auto world = [&](std::string_view line) { return error(std::string(small) + "[world]\n" + std::string(line)); };
  constexpr std::string_view mend = " (write a whole number and one of ns us ms s min h: \"60s\")";
  EXPECT_EQ(world("lease = 60"),
            "s.toml:17:9: world.lease must be a duration in quotes, not an integer" + std::string(mend));
  EXPECT_EQ(world("lease = \"60\""), "s.toml:17:9: world.lease: \"60\" is no duration" + std::string(mend));
  EXPECT_EQ(world("quiet = \"1 day\""), "s.toml:17:9: world.quiet: \"1 day\" is no duration" + std::string(mend));
  EXPECT_EQ(world("lease = \"0s\""),
            "s.toml:17:9: world.lease must be longer than 0, not 0s (write a duration such as \"60s\")");
  EXPECT_EQ(world("horizon = \"-5s\""),
            "s.toml:17:11: world.horizon must be longer than 0, not -5s (write a duration such as \"60s\")");
  EXPECT_EQ(world("quiet = \"0s\""),
            "s.toml:17:9: world.quiet must be longer than 0, not 0s (write a duration such as \"60s\")");
  EXPECT_EQ(error_with("port = 8080", "dedupe_window = \"0h\""),
            "s.toml:11:17: downstream.dedupe_window must be longer than 0, not 0s (write a duration such as \"60s\")");
}

TEST_F(Scenarios, AHorizonThatALeaseOutlastsIsRefused) {
  EXPECT_EQ(error(std::string(small) + "[world]\nhorizon = \"1min\"\n"),
            "s.toml:17:11: world.horizon 1min is not longer than world.lease 1min, so nothing can be recovered in time "
            "(make the horizon several leases long)");
}

TEST_F(Scenarios, StatesNeedWordsForLeasedAndDelivered) {
  EXPECT_EQ(error_with("leased = [\"leased\"], ", ""),
            "s.toml:8:10: ledger.states lists no word for leased (name the ledger's own word: leased = [\"leased\"])");
  EXPECT_EQ(error_with("[\"done\"]", "[]"),
            "s.toml:8:10: ledger.states lists no word for delivered "
            "(name the ledger's own word: delivered = [\"delivered\"])");
}

TEST_F(Scenarios, AWordOfTheLedgerMeansOneState) {
  EXPECT_EQ(error_with("[\"leased\"]", "[\"done\"]"),
            "s.toml:8:22: ledger.states: \"done\" is listed in delivered and in leased "
            "(a word of the ledger means one state: list it once)");
  EXPECT_EQ(error_with("[\"leased\"]", "[\"leased\", \"leased\"]"),
            "s.toml:8:32: ledger.states: \"leased\" is listed twice in leased "
            "(a word of the ledger means one state: list it once)");
}

TEST_F(Scenarios, AnUnknownStateGetsTheNearestKnownOne) {
  EXPECT_EQ(error_with("delivered =", "deliverd ="),
            "s.toml:8:33: ledger.states knows no \"deliverd\" (did you mean delivered?)");
}

TEST_F(Scenarios, ChoicesAreCheckedWithTheNearestWord) {
  const std::string head = "name = \"small\"";
  EXPECT_EQ(error_with(head, head + "\non_doubt = \"rety\""),
            "s.toml:3:12: scenario.on_doubt knows no \"rety\" (did you mean retry?)");
  EXPECT_EQ(error_with(head, head + "\nexpect = \"broken\""),
            "s.toml:3:10: scenario.expect knows no \"broken\" (expected one of held, violated)");
  EXPECT_EQ(error_with("[ledger]", "[ledger]\nkind = \"postgresql\""),
            "s.toml:5:8: ledger.kind knows no \"postgresql\" (expected sqlite)");
  EXPECT_EQ(error(std::string(small) + "on_exit = \"restrt\"\n"),
            "s.toml:16:11: actor.on_exit knows no \"restrt\" (did you mean restart?)");
  EXPECT_EQ(error(std::string(small) + "[sweep]\nfaults = [\"kil\"]\n"),
            "s.toml:17:11: sweep.faults knows no \"kil\" (did you mean kill?)");
}

TEST_F(Scenarios, ASweepNamesEachFaultOnceAndAtLeastOne) {
  EXPECT_EQ(error(std::string(small) + "[sweep]\nfaults = []\n"),
            "s.toml:17:10: sweep.faults lists no fault (name at least one: [\"kill\", \"hold\", \"drop\"])");
  EXPECT_EQ(error(std::string(small) + "[sweep]\nfaults = [\"kill\", \"kill\"]\n"),
            "s.toml:17:19: sweep.faults lists \"kill\" twice (name each fault once)");
}

TEST_F(Scenarios, ADownstreamThatIgnoresKeysNeedsAChoiceOnDoubt) {
  EXPECT_EQ(
      error_with("port = 8080", "honours_key = false"),
      "s.toml:11:15: downstream.honours_key is false, so a send whose answer is lost is in doubt, and "
      "scenario.on_doubt does not say what the product chooses (write on_doubt = \"retry\" to send again and accept "
      "a possible duplicate, or on_doubt = \"flag\" to stop and accept a possible miss that an operator can see)");
  std::string chosen = with("port = 8080", "honours_key = false");
  chosen.insert(chosen.find("[ledger]"), "on_doubt = \"retry\"\n");
  EXPECT_EQ(error(chosen), "no error");
}

TEST_F(Scenarios, CountsAndPortsHaveTheirRange) {
  EXPECT_EQ(error(std::string(small) + "count = 0\n"),
            "s.toml:16:9: actor.count 0 is out of range (an actor runs 1 to 64 times)");
  EXPECT_EQ(error(std::string(small) + "count = 65\n"),
            "s.toml:16:9: actor.count 65 is out of range (an actor runs 1 to 64 times)");
  EXPECT_EQ(error_with("8080", "0"), "s.toml:11:8: downstream.port 0 is no port (ports are 1 to 65535)");
  EXPECT_EQ(error_with("8080", "65536"), "s.toml:11:8: downstream.port 65536 is no port (ports are 1 to 65535)");
}

TEST_F(Scenarios, ACommandNamesAProgramAndHasNoNulBytes) {
  constexpr std::string_view empty =
      "s.toml:15:11: actor.command names no program "
      "(write the program and its arguments: [\"python3\", \"worker.py\", \"{actor}\"])";
  EXPECT_EQ(error_with(R"(["python3", "worker.py"])", "[]"), empty);
  EXPECT_EQ(error_with(R"(["python3", "worker.py"])", R"(["", "worker.py"])"), empty);
  EXPECT_EQ(
      error_with(R"("worker.py"])", R"("a\u0000b"])"),
      "s.toml:15:23: actor.command: the argument \"a\\u0000b\" has a NUL byte (an argument ends at a NUL: remove it)");
}

TEST_F(Scenarios, EnvironmentNamesAndValuesAreOnesThatTheKernelTakes) {
  EXPECT_EQ(error(std::string(small) + "env = { \"A=B\" = \"c\" }\n"),
            "s.toml:16:9: actor.env: \"A=B\" is no name of a variable (a name is not empty and has no = and no NUL)");
  EXPECT_EQ(error(std::string(small) + "env = { A = \"\\u0000\" }\n"),
            "s.toml:16:13: actor.env: the value of \"A\" has a NUL byte (a value ends at a NUL: remove it)");
}

TEST_F(Scenarios, NamesCanBeWrittenInAPlanAndActorsHaveTheirOwn) {
  EXPECT_EQ(error_with("\"small\"", "\"two words\""),
            "s.toml:2:8: scenario.name \"two words\" cannot be written in a plan (use letters, digits and : . _ -)");
  EXPECT_EQ(error_with("\"worker\"", "\"\""),
            "s.toml:14:8: actor.name \"\" cannot be written in a plan (use letters, digits and : . _ -)");
  EXPECT_EQ(error_with("\"worker\"", "\"downstream\""),
            "s.toml:14:8: actor.name \"downstream\" is taken by the fake downstream (choose another name)");
  EXPECT_EQ(error(std::string(small) + "[[actor]]\nname = \"worker\"\ncommand = [\"x\"]\n"),
            "s.toml:17:8: two actors are named \"worker\" (give each its own name, or use count)");
}

TEST_F(Scenarios, ControlBytesOfAFileDoNotReachTheTerminal) {
  EXPECT_EQ(error_with("\"small\"", "\"\\u001b[31m\""),
            "s.toml:2:8: scenario.name \"\\u001b[31m\" cannot be written in a plan (use letters, digits and : . _ -)");
}

TEST_F(Scenarios, KeySourcesSayWhereTheKeyIs) {
  const auto key = [&](std::string_view source) {
    return error_with("port = 8080", fmt::format("key = \"{}\"", source));
  };
  EXPECT_EQ(key("heder Idempotency-Key"), "s.toml:11:7: downstream.key knows no \"heder\" (did you mean header?)");
  EXPECT_EQ(key("header"),
            "s.toml:11:7: downstream.key \"header\" does not say where the key is (a header's name has letters, digits "
            "and -)");
  EXPECT_EQ(key("header Two Words"),
            "s.toml:11:7: downstream.key \"header Two Words\" does not say where the key is "
            "(a header's name has letters, digits and -)");
  EXPECT_EQ(key("json a..b"),
            "s.toml:11:7: downstream.key \"json a..b\" does not say where the key is "
            "(name the member, with dots for members of members: \"json job.digest_key\")");
  EXPECT_EQ(key("path /send"),
            "s.toml:11:7: downstream.key \"path /send\" does not say where the key is "
            "(the path begins with / and has {key} once: \"path /send/{key}\")");
  EXPECT_EQ(key("path /{key}/{key}").substr(0, 12), "s.toml:11:7:");
  EXPECT_EQ(key("path send/{key}").substr(0, 12), "s.toml:11:7:");
  EXPECT_EQ(error_with("port = 8080", "job = [\"json a\", \"body\"]"),
            "s.toml:11:18: downstream.job knows no \"body\" (expected one of header, json, path)");
}

TEST_F(Scenarios, TheLedgerStaysInsideTheWorld) {
  const auto at = [&](std::string_view path) { return error_with("\"ledger.db\"", fmt::format("\"{}\"", path)); };
  for (const char* path : {"/tmp/ledger.db", "../ledger.db", "a/../../b.db", "a/../b.db", "", ".", "data/"}) {
    EXPECT_EQ(at(path), fmt::format("s.toml:5:8: ledger.path \"{}\" must stay inside the world's folder "
                                    "(write a relative path without \"..\", such as \"ledger.db\")",
                                    path));
  }
  for (const char* path : {"ledger.db", "a/b.db", "..db", "./l.db"}) EXPECT_EQ(at(path), "no error") << path;
}

TEST_F(Scenarios, FilesThatAScenarioNamesMustExist) {
  constexpr std::string_view mend = " (paths are relative to this scenario file)";
  EXPECT_EQ(error_with("setup_sql = \"CREATE TABLE jobs (k, s)\"", "setup = \"none.sql\""),
            "s.toml:6:9: ledger.setup: cannot read the SQL file \"none.sql\"" + std::string(mend));
  EXPECT_EQ(error_with("setup_sql = \"CREATE TABLE jobs (k, s)\"", "setup = \"sut\""),
            "s.toml:6:9: ledger.setup: cannot read the SQL file \"sut\"" + std::string(mend));
  EXPECT_EQ(error(std::string(small) + "[world]\nfiles = [\"sut\", \"nowhere\"]\n"),
            "s.toml:17:17: world.files: there is no file or folder \"nowhere\"" + std::string(mend));
  EXPECT_EQ(error_with("name = \"small\"", "name = \"small\"\nnaive_twin = \"twin.toml\""),
            "s.toml:3:14: scenario.naive_twin: there is no scenario file \"twin.toml\"" + std::string(mend));
}

TEST_F(Scenarios, WhatTheContractSaysMustFitTheRest) {
  const auto with = [&](std::string_view line) {
    return error(std::string(small) + fmt::format("[contract]\n{}\n", line));
  };
  EXPECT_EQ(with("failed = [\"done\"]"),
            "s.toml:17:11: contract.failed: \"done\" is no flagged state (list it in flagged of ledger.states too)");
  EXPECT_EQ(with("failed = [\"never\"]").substr(0, 50), "s.toml:17:11: contract.failed: \"never\" is no flagg");
  EXPECT_EQ(with("max_attempts = 0"),
            "s.toml:17:16: contract.max_attempts 0 is out of range (a job is attempted once or more)");
  EXPECT_EQ(with("recovery = \"0s\"").substr(0, 41), "s.toml:17:12: contract.recovery must be l");
  EXPECT_EQ(with("eligible = [\"a\", \"a\"]"),
            "s.toml:17:18: contract.eligible lists \"a\" twice (name each job once)");
}

TEST_F(Scenarios, AnEmptyRowsQueryIsRefused) {
  EXPECT_EQ(error_with("\"SELECT k AS key, s AS state FROM jobs\"", "\" \""),
            "s.toml:7:8: ledger.rows is empty (write \"SELECT digest_key AS key, state AS state FROM ...\")");
}

}  // namespace
}  // namespace halfsent
