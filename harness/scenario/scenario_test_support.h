// The smallest scenario, and a folder with the files that scenarios of tests refer to.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>

#include "harness/scenario/scenario.h"

namespace halfsent {

namespace fs = std::filesystem;

inline constexpr std::string_view small = R"toml([scenario]
name = "small"

[ledger]
path = "ledger.db"
setup_sql = "CREATE TABLE jobs (k, s)"
rows = "SELECT k AS key, s AS state FROM jobs"
states = { leased = ["leased"], delivered = ["done"] }

[downstream]
port = 8080

[[actor]]
name = "worker"
command = ["python3", "worker.py"]
)toml";

// A folder with the files that scenarios refer to.
class Scenarios : public testing::Test {
 protected:
  void SetUp() override {
    const testing::TestInfo* test = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = fs::path(testing::TempDir()) / ("halfsent-" + std::string(test->name()));
    fs::remove_all(folder_);
    fs::create_directories(folder_ / "sut");
    write("schema.sql", "CREATE TABLE jobs (k, s);");
    write("sut/worker.py", "");
    write("naive.toml", "");
  }
  void TearDown() override { fs::remove_all(folder_); }

  void write(const std::string& name, std::string_view text) const { std::ofstream(folder_ / name) << text; }

  [[nodiscard]] Result<Scenario> parse(std::string_view toml) const { return parse_scenario(toml, folder_ / "s.toml"); }

  // The whole message, with the folder of the test left out.
  [[nodiscard]] std::string error(std::string_view toml) const {
    const Result<Scenario> result = parse(toml);
    if (result) return "no error";
    EXPECT_EQ(result.error().code, ExitCode::usage);
    std::string text = result.error().to_string();
    const std::string prefix = folder_.string() + "/";
    if (text.starts_with(prefix)) text.erase(0, prefix.size());
    return text;
  }

  // The small scenario with one piece of text replaced.
  [[nodiscard]] static std::string with(std::string_view what, std::string_view instead) {
    std::string text(small);
    const std::size_t at = text.find(what);
    if (at == std::string::npos) throw std::logic_error("not in the small scenario: " + std::string(what));
    return text.replace(at, what.size(), instead);
  }

  // The error after one piece of text of the small scenario is replaced.
  [[nodiscard]] std::string error_with(std::string_view what, std::string_view instead) const {
    return error(with(what, instead));
  }

  fs::path folder_;
};

}  // namespace halfsent
