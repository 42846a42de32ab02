#include "harness/core/error.h"

#include <gtest/gtest.h>

namespace halfsent {
namespace {

TEST(Error, NamesFileLineAndColumnThenMessageAndMend) {
  const Error error{.code = ExitCode::usage,
                    .message = "'kil' is not an action",
                    .mend = "did you mean 'kill'?",
                    .file = "a.plan",
                    .line = 3,
                    .column = 7};
  EXPECT_EQ(error.to_string(), "a.plan:3:7: 'kil' is not an action (did you mean 'kill'?)");
}

TEST(Error, LeavesOutWhatIsNotKnown) {
  EXPECT_EQ((Error{.message = "no world"}).to_string(), "no world");
  EXPECT_EQ((Error{.message = "no world", .line = 2}).to_string(), "2: no world");
  EXPECT_EQ((Error{.message = "no world", .line = 2, .column = 5}).to_string(), "2:5: no world");
  EXPECT_EQ((Error{.message = "no world", .file = "s.toml"}).to_string(), "s.toml: no world");
  EXPECT_EQ((Error{.message = "no world", .file = "s.toml", .column = 5}).to_string(), "s.toml: no world");
}

TEST(Error, CannotMoveTheCursorOrForgeALine) {
  const Error error{.message = "bad \x1b[2Jkey\nok", .file = "a\x07.plan"};
  EXPECT_EQ(error.to_string(), "a\\x07.plan: bad \\x1b[2Jkey\\nok");
}

TEST(Error, UncheckedUseThrowsWithItsMessage) {
  const Result<int> result = Error{.message = "nothing here"};
  try {
    (void)result.value();
    FAIL() << "value() of an error must throw";
  } catch (const std::logic_error& error) {
    EXPECT_STREQ(error.what(), "unchecked error: nothing here");
  }
}

}  // namespace
}  // namespace halfsent
