#include "harness/core/text.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "harness/core/test_bytes.h"

namespace halfsent {
namespace {

std::string json(std::string_view bytes) {
  std::string out;
  append_json_string(out, bytes);
  return out;
}

bool has_control(std::string_view text) {
  return std::ranges::any_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
}

TEST(Text, AByteThatIsNotUtf8IsWrittenAsALoneSurrogate) {
  EXPECT_EQ(json("a\xff"), R"("a\udcff")");
  EXPECT_EQ(json("\xed\xb2\x80"), R"("\udced\udcb2\udc80")");  // an encoded surrogate is not valid UTF-8
}

TEST(Text, ValidUtf8StaysReadableAndControlsDoNot) {
  EXPECT_EQ(json("\xe2\x82\xac"), "\"\xe2\x82\xac\"");
  EXPECT_EQ(json(std::string_view("\0\n\x1b\x7f", 4)), R"("\u0000\n\u001b\u007f")");
  EXPECT_EQ(json("\xc2\x9b\xe2\x80\xae"), R"("\u009b\u202e")");
  EXPECT_EQ(json(R"(a"b\c)"), R"("a\"b\\c")");
}

RC_GTEST_PROP(Text, AnyBytesComeBackFromAJsonString, ()) {
  const std::string bytes = *any_bytes();
  const std::string text = json(bytes);
  const auto back = parse_json_string(text);
  RC_ASSERT(back.has_value());
  RC_ASSERT(*back == bytes);
  RC_ASSERT(is_valid_utf8(text));
  RC_ASSERT(!has_control(text));
}

TEST(Text, APairOfSurrogatesIsOneCharacterEvenWhenItsSecondHalfLooksLikeAByte) {
  EXPECT_EQ(*parse_json_string(R"("\ud83d\ude00")"), "\xf0\x9f\x98\x80");
  EXPECT_EQ(*parse_json_string(R"("\ud83d\udc80")"), "\xf0\x9f\x92\x80");
  EXPECT_EQ(*parse_json_string(R"("\ud83d\ude00\udc80")"), "\xf0\x9f\x98\x80\x80");
}

TEST(Text, AnEscapedBackslashBeforeUdcIsNoByte) { EXPECT_EQ(*parse_json_string(R"("\\udc80")"), R"(\udc80)"); }

TEST(Text, WhatIsNoJsonStringIsRefused) {
  for (const std::string_view text : {"", "\"", "a", "1", "\"a\"b", R"("\udc00")", R"("\udc7f")", R"("\ud83d")",
                                      R"("\ud83dx")", R"("\x")", R"("\u12")", "\"\n\"", "\"\xff\"", "[\"a\"]"}) {
    EXPECT_FALSE(parse_json_string(text).has_value()) << text;
  }
}

RC_GTEST_PROP(Text, PrintableTextIsOneLineOfValidUtf8WithoutControls, ()) {
  const std::string text = printable(*any_bytes());
  RC_ASSERT(is_valid_utf8(text));
  RC_ASSERT(!has_control(text));
  RC_ASSERT(text.find("\xc2\x85") == text.npos);
  RC_ASSERT(text.find("\xe2\x80\xae") == text.npos);
}

TEST(Text, PrintableLeavesOrdinaryTextAlone) {
  EXPECT_EQ(printable("key \"\xe2\x82\xac\" \\"), "key \"\xe2\x82\xac\" \\");
  EXPECT_EQ(printable("a\tb\r\xff\xe2\x80\xae"), "a\\tb\\r\\xff\\u{202e}");
}

TEST(Text, OverlongCutAndOutOfRangeSequencesAreNotUtf8) {
  for (const std::string_view bytes : {"\xc0\xaf", "\xc3", "\xa9", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xff"}) {
    EXPECT_FALSE(is_valid_utf8(bytes)) << printable(bytes);
  }
  EXPECT_TRUE(is_valid_utf8(std::string_view("\0\x7f\xf4\x8f\xbf\xbf", 6)));
}

}  // namespace
}  // namespace halfsent
