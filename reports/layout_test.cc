#include "reports/layout.h"

#include <gtest/gtest.h>

namespace halfsent {
namespace {

TEST(Layout, ColoursAreOnlyWrittenWhenAskedFor) {
  EXPECT_EQ(paint("lost", Paint::bad, Style{.colour = false}), "lost");
  EXPECT_EQ(paint("lost", Paint::bad, Style{.colour = true}), "\x1b[1;31mlost\x1b[0m");
  EXPECT_EQ(paint("lost", Paint::plain, Style{.colour = true}), "lost");
}

TEST(Layout, CuttingCountsCodePointsAndNeverSplitsOne) {
  EXPECT_EQ(cut("abc", 3), "abc");
  EXPECT_EQ(cut("abcd", 3), "ab…");
  EXPECT_EQ(cut("äöüß", 3), "äö…");
  EXPECT_EQ(cut("äöüß", 0), "äöüß");
  EXPECT_EQ(cut("abcd", 1), "…");
  EXPECT_EQ(display_width("äb"), 2u);
}

TEST(Layout, ATableAlignsItsColumnsWithoutTrailingSpaces) {
  EXPECT_EQ(table({{{"a"}, {"b"}}, {{"long"}, {""}}, {{""}, {"c"}}}, 0, Style{}), "a     b\nlong\n      c\n");
}

TEST(Layout, ATableThatIsTooWideCutsItsFlexibleColumn) {
  EXPECT_EQ(table({{{"x"}, {"0123456789abcdefghij"}, {"y"}}}, 1, Style{.width = 20}), "x  0123456789abc…  y\n");
  EXPECT_EQ(table({{{"x"}, {"0123456789abcdefghij"}, {"y"}}}, 1, Style{.width = 5}), "x  0123456789a…  y\n");
  EXPECT_EQ(table({{{"x"}, {"0123456789abcdefghij"}, {"y"}}}, 1, Style{.width = 0}), "x  0123456789abcdefghij  y\n");
}

TEST(Layout, AColouredTableIsAlignedAsAPlainOne) {
  EXPECT_EQ(table({{{"a", Paint::good}, {"b"}}, {{"cc"}, {"d"}}}, 0, Style{.colour = true}),
            "\x1b[32ma\x1b[0m   b\ncc  d\n");
}

TEST(Layout, CountsHaveTheirPlural) {
  EXPECT_EQ(count_of(1, "effect"), "1 effect");
  EXPECT_EQ(count_of(0, "effect"), "0 effects");
}

}  // namespace
}  // namespace halfsent
