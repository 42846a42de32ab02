#include "harness/cli/regressions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/cli/stored_run.h"

namespace halfsent {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

namespace fs = std::filesystem;

class Regressions : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "halfsent-regressions-XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    scenario_.name = "s";
    scenario_.file = folder_ / "s.toml";
    scenario_.actors = {{.name = "worker", .count = 2, .command = {}, .env = {}}};
  }
  void TearDown() override { fs::remove_all(folder_); }

  void keep(const std::string& name, const std::string& text) {
    fs::create_directories(folder_ / "regressions" / "s");
    ASSERT_TRUE(write_text(folder_ / "regressions" / "s" / name, text));
  }

  fs::path folder_;
  Scenario scenario_;
};

TEST_F(Regressions, ThereNeedBeNone) {
  const Result<std::vector<Regression>> none = load_regressions(scenario_);
  ASSERT_TRUE(none);
  EXPECT_THAT(*none, IsEmpty());
}

TEST_F(Regressions, APlanThatIsSavedIsRunNextTimeAndKeptOnce) {
  const Plan plan =
      *parse_plan("scenario s; seed 3; kill worker-1 at after_claim \"a; b\"; then kill worker-2 at before_mark");
  const Verdict verdict{.keys = {{.key = "a; b", .kind = VerdictKind::lost, .why = "nobody came\nback"}}};
  const Result<fs::path> first = save_regression(scenario_, plan, verdict);
  ASSERT_TRUE(first);
  EXPECT_EQ(*save_regression(scenario_, plan, verdict), *first);
  const Result<std::vector<Regression>> loaded = load_regressions(scenario_);
  ASSERT_TRUE(loaded);
  ASSERT_THAT(*loaded, SizeIs(1));
  EXPECT_EQ(loaded->front().plan, plan);
  EXPECT_THAT(*read_text(*first), HasSubstr("# lost \"a; b\": nobody came\\nback\n"));
}

TEST_F(Regressions, TheyComeInTheOrderOfTheirNames) {
  keep("b.plan", "scenario s; seed 1; kill worker-1 at after_claim");
  keep("a.plan", "scenario s; seed 1; kill worker-2 at after_claim");
  keep("notes.txt", "not a plan");
  const Result<std::vector<Regression>> loaded = load_regressions(scenario_);
  ASSERT_TRUE(loaded);
  ASSERT_THAT(*loaded, SizeIs(2));
  EXPECT_EQ(loaded->front().name, "a.plan");
}

TEST_F(Regressions, WhatCannotBeRunIsToldWithItsFile) {
  keep("a.plan", "scenario s; seed 1; kil worker-1 at after_claim");
  EXPECT_THAT(load_regressions(scenario_).error().to_string(), HasSubstr("a.plan:1:"));
  keep("a.plan", "scenario other; seed 1; kill worker-1 at after_claim");
  EXPECT_THAT(load_regressions(scenario_).error().to_string(), HasSubstr("for the scenario other"));
  keep("a.plan", "scenario s; seed 1; kill worker-9 at after_claim");
  EXPECT_THAT(load_regressions(scenario_).error().to_string(), HasSubstr("no actor worker-9"));
}

}  // namespace
}  // namespace halfsent
