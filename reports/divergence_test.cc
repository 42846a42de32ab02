#include "reports/divergence.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace halfsent {
namespace {

using testing::HasSubstr;
using testing::Not;

History notes(const std::vector<std::string>& texts) {
  History history{.scenario = "s", .seed = 1, .plan = {}, .events = {}};
  for (const std::string& text : texts)
    history.events.push_back({.seq = history.events.size(), .body = Note{.text = text}});
  return history;
}

TEST(Divergence, TheFirstEventThatDiffersIsMarkedAndShownInFull) {
  const std::string text =
      divergence(notes({"a", "b", "c", "d", "e", "f", "g"}), notes({"a", "b", "c", "d", "e", "X", "g"}), {});
  EXPECT_THAT(text, HasSubstr("> 5"));
  EXPECT_THAT(text, Not(HasSubstr("  0  ")));  // too far before
  EXPECT_THAT(text, HasSubstr(R"(first   {"t":0,"actor":"","inc":0,"proc":0,"kind":"note","text":"f"})"));
  EXPECT_THAT(text, HasSubstr(R"(second  {"t":0,"actor":"","inc":0,"proc":0,"kind":"note","text":"X"})"));
}

TEST(Divergence, OneThatEndsEarlierIsSeen) {
  EXPECT_THAT(divergence(notes({"a", "b"}), notes({"a"}), {}), HasSubstr("second  (the end)\n"));
}

TEST(Divergence, EqualHistoriesDoNotDiffer) {
  EXPECT_EQ(divergence(notes({"a"}), notes({"a"}), {}), "the two histories are equal\n");
}

TEST(Divergence, BytesOfStrangersReachNoTerminal) {
  EXPECT_THAT(divergence(notes({"\x1b[31m"}), notes({"b"}), {}), Not(HasSubstr("\x1b")));
}

}  // namespace
}  // namespace halfsent
