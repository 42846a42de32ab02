#include "harness/scenario/schema.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>

namespace halfsent {
namespace {

TEST(Schema, TheDocumentedKeysAreTheRulesInTheSameOrder) {
  const auto keys = scenario_schema();
  ASSERT_EQ(keys.size(), rules().size());
  for (std::size_t i = 0; i < keys.size(); ++i) {
    EXPECT_EQ(keys[i].table, rules()[i].table);
    EXPECT_EQ(keys[i].key, rules()[i].key);
    EXPECT_EQ(keys[i].required, rules()[i].required);
    EXPECT_EQ(keys[i].type, type_name(rules()[i].apply));
  }
}

TEST(Schema, NoKeyIsListedTwiceAndEachHasASummaryThatIsASentence) {
  std::set<std::pair<std::string_view, std::string_view>> seen;
  for (const SchemaKey& key : scenario_schema()) {
    EXPECT_TRUE(seen.emplace(key.table, key.key).second) << key.table << "." << key.key;
    EXPECT_THAT(std::string(key.summary), testing::EndsWith(".")) << key.table << "." << key.key;
  }
}

TEST(Schema, TheKeysOfATableStandTogether) {
  std::set<std::string_view> closed;
  std::string_view open;
  for (const SchemaKey& key : scenario_schema()) {
    if (key.table == open) continue;
    closed.insert(open);
    open = key.table;
    EXPECT_FALSE(closed.contains(open)) << open;
  }
}

TEST(Schema, TypesAreNamedAfterWhatTheRuleTakes) {
  const auto type_of = [](std::string_view table, std::string_view key) -> std::string {
    for (const SchemaKey& each : scenario_schema()) {
      if (each.table == table && each.key == key) return std::string(each.type);
    }
    return "absent";
  };
  EXPECT_EQ(type_of("scenario", "name"), "string");
  EXPECT_EQ(type_of("world", "lease"), "duration");
  EXPECT_EQ(type_of("downstream", "honours_key"), "boolean");
  EXPECT_EQ(type_of("downstream", "port"), "integer");
  EXPECT_EQ(type_of("world", "files"), "list of strings");
  EXPECT_EQ(type_of("actor", "env"), "table of strings");
  EXPECT_EQ(type_of("ledger", "states"), "table of lists of strings");
}

TEST(Schema, AWordFromAFileIsShownWithoutControlBytes) {
  EXPECT_EQ(shown("plain"), "\"plain\"");
  EXPECT_EQ(shown("a\x1b[31m\n"), "\"a\\u001b[31m\\n\"");
}

TEST(Schema, TheFolderOfTheRunningProgramReplacesEveryBin) {
  const std::string here = std::filesystem::read_symlink("/proc/self/exe").parent_path().string();
  EXPECT_EQ(expand_bin("${BIN}/a:${BIN}/b"), here + "/a:" + here + "/b");
  EXPECT_EQ(expand_bin("${HOME}/$BIN/{BIN}"), "${HOME}/$BIN/{BIN}");
}

TEST(Schema, TheNearestNameIsSuggestedAndWithoutANearOneAllAreListed) {
  const std::vector<std::string> names = {"retry", "flag"};
  EXPECT_EQ(suggestion("rety", names), "did you mean retry?");
  EXPECT_EQ(suggestion("zzzzzzzzzz", names), "expected one of retry, flag");
}

}  // namespace
}  // namespace halfsent
