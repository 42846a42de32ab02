#include <gmock/gmock.h>

#include "harness/scenario/scenario_test_support.h"

namespace halfsent {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::string_view drill = R"toml([drill]
name = "staging"
systems = ["small.toml", "other.toml"]
fails = ["naive.toml"]

[ledger]
setup_sql = "CREATE TABLE ten (k, s)"

[[actor]]
name = "worker"
count = 3

[[actor]]
name = "scheduler"
command = ["true"]

[objectives]
longest_delay = "5min"

[[run]]
plan = "kill worker-1 at after_claim a; restart worker-1 after 2min"
delivered = 10
attempts = { "a:1" = 2 }
oldest_pending = "0s"
)toml";

class Drills : public Scenarios {
 protected:
  void SetUp() override {
    Scenarios::SetUp();
    write("small.toml", small);
    write("other.toml", with("name = \"small\"", "name = \"other\""));
    write("naive.toml", with("name = \"small\"", "name = \"naive\""));
  }

  [[nodiscard]] static std::string drill_with(std::string_view what, std::string_view instead) {
    std::string text(drill);
    const std::size_t at = text.find(what);
    if (at == std::string::npos) throw std::logic_error("not in the drill: " + std::string(what));
    return text.replace(at, what.size(), instead);
  }
};

TEST_F(Drills, TakeFromTheSystemWhatTheyDoNotSay) {
  const Result<Scenario> result = parse(drill);
  ASSERT_TRUE(result) << result.error().to_string();
  EXPECT_EQ(result->name, "staging.small");
  EXPECT_EQ(result->file, folder_ / "s.toml");
  EXPECT_EQ(result->ledger.path, "ledger.db");
  EXPECT_EQ(result->ledger.setup, "CREATE TABLE ten (k, s)");
  ASSERT_EQ(result->actors.size(), 2U);
  EXPECT_EQ(result->actors[0].name, "worker");
  EXPECT_EQ(result->actors[0].count, 3);
  EXPECT_THAT(result->actors[0].command, ElementsAre("python3", "worker.py"));
  EXPECT_EQ(result->actors[1].name, "scheduler");
  EXPECT_EQ(result->objectives.longest_delay, 5min);
  EXPECT_FALSE(result->expect_violation);
}

TEST_F(Drills, HaveARunWithItsPlanAndWhatIsExpected) {
  const Result<Scenario> result = parse(drill);
  ASSERT_TRUE(result) << result.error().to_string();
  ASSERT_EQ(result->runs.size(), 1U);
  EXPECT_EQ(to_string(result->runs[0].plan),
            "scenario staging.small; seed 1; kill worker-1 at after_claim a; restart worker-1 after 2min");
  const Expectations& expected = result->runs[0].expected;
  EXPECT_EQ(expected.delivered, 10);
  EXPECT_EQ(expected.oldest_pending, 0s);
  EXPECT_EQ(expected.attempts.at("a:1"), 2);
  EXPECT_EQ(expected.flagged, std::nullopt);
}

TEST_F(Drills, RunOnTheSystemThatIsNamed) {
  const Result<Scenario> other = parse_scenario(drill, folder_ / "s.toml", folder_ / "other.toml");
  ASSERT_TRUE(other) << other.error().to_string();
  EXPECT_EQ(other->name, "staging.other");
  const Result<Scenario> naive = parse_scenario(drill, folder_ / "s.toml", folder_ / "naive.toml");
  ASSERT_TRUE(naive);
  EXPECT_TRUE(naive->expect_violation);
}

TEST_F(Drills, MayHaveOnlySystemsThatMustFail) {
  const Result<Scenario> result = parse(drill_with("systems = [\"small.toml\", \"other.toml\"]", ""));
  ASSERT_TRUE(result) << result.error().to_string();
  EXPECT_EQ(result->name, "staging.naive");
  EXPECT_TRUE(result->expect_violation);
}

TEST_F(Drills, MistakesNameTheirPlaceAndTheMend) {
  EXPECT_EQ(error(drill_with("delivered = 10", "delivred = 10")),
            R"(s.toml:22:1: [[run]] has no key "delivred" (did you mean delivered?))");
  EXPECT_EQ(error(drill_with("delivered = 10", "delivered = -1")),
            "s.toml:22:13: a number of things is 0 or more (write how many there must be)");
  EXPECT_EQ(error(drill_with("\"a:1\" = 2", "\"a:1\" = \"2\"")),
            "s.toml:23:22: run.attempts.a:1 must be a whole number, not a string");
  EXPECT_THAT(error(drill_with("kill worker-1", "kil worker-1")), HasSubstr("s.toml:21:8: run.plan: "));
  EXPECT_THAT(error(drill_with("kill worker-1", "kil worker-1")), HasSubstr("kill"));
  EXPECT_EQ(error(drill_with("\"5min\"", "\"0s\"")),
            R"(s.toml:18:17: an objective must be longer than 0, not 0s (write a duration such as "2min"))");
  EXPECT_EQ(error(drill_with("\"small.toml\"", "\"smal.toml\"")),
            R"(s.toml:3:12: there is no scenario file "smal.toml" (paths are relative to this drill's file))");
  EXPECT_EQ(error(drill_with("command = [\"true\"]", "")).substr(0, 58),
            "s.toml:13:1: [[actor]] needs the key command (list of stri");
  EXPECT_EQ(error("[drill]\nname = \"d\"\nsystems = []\n"),
            R"(s.toml:1:1: the drill names no system (write systems = ["../polling_python.toml"]))");
}

TEST_F(Drills, WithoutARunShowNothing) {
  EXPECT_THAT(error(drill.substr(0, drill.find("[[run]]"))), HasSubstr("the drill has no run"));
  EXPECT_THAT(error(drill_with("plan = \"kill worker-1 at after_claim a; restart worker-1 after 2min\"", "")),
              HasSubstr("s.toml:20:1: [[run]] needs the key plan"));
}

TEST_F(Drills, AMistakeOfTheSystemIsToldInItsOwnFile) {
  write("small.toml", with("port = 8080", "port = 0"));
  EXPECT_THAT(error(drill), HasSubstr("small.toml:11:8: downstream.port 0 is no port"));
}

TEST_F(Drills, AreNoSystemsAndScenariosAreNoDrills) {
  write("small.toml", drill);
  EXPECT_THAT(error(drill), HasSubstr("a drill is no system for a drill"));
  EXPECT_THAT(error(std::string(small) + "[[run]]\nplan = \"\"\n"), HasSubstr("a [[run]] belongs to a drill"));
  const Result<Scenario> result = parse_scenario(small, folder_ / "s.toml", folder_ / "naive.toml");
  ASSERT_FALSE(result);
  EXPECT_THAT(result.error().message, HasSubstr("this is no drill"));
}

TEST_F(Drills, HaveNoScenarioTable) {
  EXPECT_THAT(error(std::string(drill) + "[scenario]\nname = \"x\"\n"), HasSubstr("a drill has no [scenario]"));
}

TEST_F(Drills, ObjectivesBelongToAnyScenario) {
  const Result<Scenario> result = parse(std::string(small) + "[objectives]\nlongest_block = \"2min\"\n");
  ASSERT_TRUE(result) << result.error().to_string();
  EXPECT_EQ(result->objectives.longest_block, 2min);
  EXPECT_TRUE(result->runs.empty());
}

}  // namespace
}  // namespace halfsent
