#include "harness/scenario/defects.h"

#include <gmock/gmock.h>

#include "harness/scenario/scenario_test_support.h"

namespace halfsent {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;

constexpr std::string_view table = R"toml(scenarios = "."
actor = "worker"
first_job = 5
key = "k{n}"
job = "INSERT INTO jobs VALUES ('k{n}');"
clear = "DELETE FROM jobs;"

[[defect]]
id = "M01"
part = "Claim"
switch = "claims-badly"
what = "claims badly"
base = "small.toml"
faults = ["kill", "hold"]
verdicts = ["duplicate", "attempts"]
needs = "duplicate"
workers = 3
jobs = 2
options = ["--lease", "9"]
key_lag = "30s"

[[defect]]
id = "R01"
part = "Mark"
switch = "marks-badly"
what = "marks badly"
base = "small.toml"
faults = []
verdicts = ["lost"]
clean = "violated"
)toml";

class Defects : public Scenarios {
 protected:
  void SetUp() override {
    Scenarios::SetUp();
    write("small.toml", small);
  }
  Result<DefectTable> load(std::string_view text) {
    write("defects.toml", text);
    return load_defects(folder_ / "defects.toml", {"duplicate", "lost", "attempts"});
  }
  std::string error_after(std::string_view what, std::string_view instead) {
    std::string text(table);
    text.replace(text.find(what), what.size(), instead);
    const Result<DefectTable> result = load(text);
    return result ? "no error" : result.error().to_string();
  }
};

TEST_F(Defects, ARowIsItsBaseWithItsChangesAndItsSwitch) {
  const Result<DefectTable> read = load(table);
  ASSERT_TRUE(read) << read.error().to_string();
  ASSERT_EQ(read->defects.size(), 2U);
  const Result<Scenario> scenario = scenario_of(*read, read->defects[0], true);
  ASSERT_TRUE(scenario) << scenario.error().to_string();
  EXPECT_EQ(scenario->name, "selfcheck.M01");
  EXPECT_THAT(scenario->sweep_faults, ElementsAre(FaultKind::kill, FaultKind::hold));
  EXPECT_EQ(scenario->actors[0].count, 3);
  EXPECT_THAT(scenario->ledger.setup,
              EndsWith("DELETE FROM jobs;\nINSERT INTO jobs VALUES ('k5');\nINSERT INTO jobs VALUES ('k6');\n"));
  EXPECT_EQ(scenario->downstream.key_lag, 30s);
  const std::vector<std::string>& command = scenario->actors[0].command;
  EXPECT_THAT((std::vector<std::string>{command.end() - 4, command.end()}),
              ElementsAre("--lease", "9", "--defect", "claims-badly"));
}

TEST_F(Defects, TheRightSystemHasTheOptionsAndNoSwitch) {
  const Result<DefectTable> read = load(table);
  ASSERT_TRUE(read) << read.error().to_string();
  const Result<Scenario> scenario = scenario_of(*read, read->defects[0], false);
  ASSERT_TRUE(scenario) << scenario.error().to_string();
  EXPECT_EQ(scenario->actors[0].command.back(), "9");
}

TEST_F(Defects, AreFoundByIdAndBySwitch) {
  const Result<DefectTable> read = load(table);
  ASSERT_TRUE(read) << read.error().to_string();
  EXPECT_EQ(find_defect(*read, "R01"), &read->defects[1]);
  EXPECT_EQ(find_defect(*read, "marks-badly"), &read->defects[1]);
  EXPECT_EQ(find_defect(*read, "marks"), nullptr);
}

TEST_F(Defects, WhatIsWrongIsToldWithItsPlaceAndTheMend) {
  EXPECT_THAT(error_after("workers", "wrokers"),
              HasSubstr("defects.toml:17:11: a defect has no key \"wrokers\" (did you"
                        " mean workers?"));
  EXPECT_THAT(error_after("\"attempts\"", "\"attempt\""), HasSubstr("verdicts knows no verdict \"attempt\""));
  EXPECT_THAT(error_after("what = \"claims badly\"\n", ""), HasSubstr("a defect needs the key what"));
  EXPECT_THAT(error_after("[\"kill\"", "[\"kil\""), HasSubstr("faults: "));
  EXPECT_THAT(error_after("\"R01\"", "\"M01\""), HasSubstr("there are two defects \"M01\""));
  EXPECT_THAT(error_after("base = \"small", "base = \"big"), HasSubstr("the base of M01 is no scenario"));
  EXPECT_THAT(error_after("jobs = 2", "jobs = \"2\""), HasSubstr("jobs must be a whole number"));
  EXPECT_THAT(error_after("clear = ", "claer = "), HasSubstr("the table of defects has no \"claer\""));
  EXPECT_THAT(error_after("clean = \"violated\"", "clean = \"held\""), HasSubstr("clean can only be"));
  EXPECT_THAT(error_after("actor = \"worker\"", "actor = "), HasSubstr("this is no TOML"));
}

}  // namespace
}  // namespace halfsent
