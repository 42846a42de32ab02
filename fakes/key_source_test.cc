#include "fakes/key_source.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <boost/json.hpp>

namespace halfsent {
namespace {

std::string in_json(std::string path, std::string body) {
  ReceivedRequest request;
  request.body = std::move(body);
  return find_key({.kind = KeySource::Kind::json, .where = std::move(path)}, request);
}

std::string in_path(std::string pattern, std::string target) {
  ReceivedRequest request;
  request.target = std::move(target);
  return find_key({.kind = KeySource::Kind::path, .where = std::move(pattern)}, request);
}

std::string in_header(std::string name, std::vector<HeaderField> fields) {
  ReceivedRequest request;
  request.fields = std::move(fields);
  return find_key({.kind = KeySource::Kind::header, .where = std::move(name)}, request);
}

TEST(KeySource, AHeaderIsFoundWhateverItsCase) {
  EXPECT_EQ(in_header("idempotency-key", {{"Host", "x"}, {"IDEMPOTENCY-Key", "k"}}), "k");
  EXPECT_EQ(in_header("Idempotency-Key", {{"Idempotency-Keys", "k"}}), "");
  EXPECT_EQ(in_header("K", {{"k", "first"}, {"K", "second"}}), "first");
  EXPECT_EQ(in_header("K", {}), "");
}

TEST(KeySource, AMemberOfAJsonBodyIsFound) {
  EXPECT_EQ(in_json("digest_key", R"({"a":[1,{"digest_key":"no"}],"digest_key":"4187:2026-W33"})"), "4187:2026-W33");
  EXPECT_EQ(in_json("job.digest_key", R"({"digest_key":"no","job":{"x":{},"digest_key":"yes"}})"), "yes");
  EXPECT_EQ(in_json("a.b.c", " {\"a\" : {\"b\" : {\"c\" : \"deep\"}}}\r\n "), "deep");
}

TEST(KeySource, AMemberElsewhereIsNotTakenForTheOneOfThePath) {
  EXPECT_EQ(in_json("k", R"({"a":{"k":"deeper"}})"), "");
  EXPECT_EQ(in_json("k", R"([{"k":"in a list"}])"), "");
  EXPECT_EQ(in_json("a.k", R"({"a":[{"k":"in a list"}]})"), "");
  EXPECT_EQ(in_json("a.k", R"({"b":{"k":"other"},"k":"above"})"), "");
  EXPECT_EQ(in_json("a.k", R"({"a":{"b":{"k":"deeper"}}})"), "");
  EXPECT_EQ(in_json("a.k", R"({"a":{"b":{"a":{"k":"deeper"}}}})"), "");
  EXPECT_EQ(in_json("a", R"({"a":{"a":"below"}})"), "");
  EXPECT_EQ(in_json("a.b", R"({"a.b":"one name"})"), "");
}

TEST(KeySource, ANumberKeepsItsOwnText) {
  EXPECT_EQ(in_json("k", R"({"k":4187})"), "4187");
  EXPECT_EQ(in_json("k", R"({"k":-7})"), "-7");
  EXPECT_EQ(in_json("k", R"({"k":18446744073709551615})"), "18446744073709551615");
  EXPECT_EQ(in_json("k", R"({"k":12345678901234567890123})"), "12345678901234567890123");
  EXPECT_EQ(in_json("k", R"({"k":1.50})"), "1.50");
}

TEST(KeySource, OtherJsonValuesAreNoKey) {
  for (const char* value : {"true", "null", "{}", "[]", "[\"x\"]", "{\"k\":\"x\"}", "\"\""}) {
    EXPECT_EQ(in_json("k", std::string("{\"k\":") + value + "}"), "") << value;
  }
}

TEST(KeySource, WhatIsNotJsonHasNoKey) {
  for (const char* body : {"", "k=v", "{", R"({"k":"cut)", R"({"k":"v"} rubbish)", R"({"k":"v",})", "{\"k\":\"\xff\"}",
                           R"({"k":"\ud800"})", "\"k\"", "7"}) {
    EXPECT_EQ(in_json("k", body), "") << body;
  }
  EXPECT_EQ(in_json("", R"({"":"v"})"), "");
}

TEST(KeySource, JsonThatIsNestedTooDeeplyHasNoKeyAndDoesNoHarm) {
  const std::string deep = std::string(100'000, '[') + std::string(100'000, ']');
  EXPECT_EQ(in_json("k", R"({"k":"v","x":)" + deep + "}"), "");
  const std::string allowed = std::string(200, '[') + std::string(200, ']');
  EXPECT_EQ(in_json("k", R"({"k":"v","x":)" + allowed + "}"), "v");
}

TEST(KeySource, OfARepeatedMemberTheLastCounts) {
  EXPECT_EQ(in_json("k", R"({"k":"a","k":"b"})"), "b");
  EXPECT_EQ(in_json("k", R"({"k":"a","k":null})"), "");
  EXPECT_EQ(in_json("j.k", R"({"j":{"k":"a"},"j":{}})"), "");
}

TEST(KeySource, EscapesInJsonAreDecoded) {
  EXPECT_EQ(in_json("k", R"({"k":"a\"b\\c\n\u0000\u00e9\ud83d\ude00"})"), std::string("a\"b\\c\n\0é😀", 13));
  EXPECT_EQ(in_json("digest_key", R"({"digest\u005fkey":"v"})"), "v");
}

RC_GTEST_PROP(KeySource, AnyTextThatJsonCanHoldIsFoundAsItWas, ()) {
  const auto text = *rc::gen::container<std::string>(rc::gen::inRange<char>(0, 127));
  const boost::json::value document{{"x", {1, 2}}, {"job", {{"digest_key", text}, {"y", text}}}, {"digest_key", 1}};
  RC_ASSERT(in_json("job.digest_key", boost::json::serialize(document)) == text);
}

TEST(KeySource, APathGivesWhatStandsInPlaceOfTheKey) {
  EXPECT_EQ(in_path("/send/{key}", "/send/4187:2026-W33"), "4187:2026-W33");
  EXPECT_EQ(in_path("/send/{key}", "/send/k?retry=1&x=/y"), "k");
  EXPECT_EQ(in_path("/send/{key}", "/send/k#part"), "k");
  EXPECT_EQ(in_path("/jobs/{key}/send", "/jobs/k/send"), "k");
  EXPECT_EQ(in_path("/send/{key}", "http://127.0.0.1:8080/send/k"), "k");
}

TEST(KeySource, APathThatDoesNotFitHasNoKey) {
  EXPECT_EQ(in_path("/send/{key}", "/send/"), "");
  EXPECT_EQ(in_path("/send/{key}", "/send"), "");
  EXPECT_EQ(in_path("/send/{key}", "/other/k"), "");
  EXPECT_EQ(in_path("/send/{key}", "/send/a/b"), "");
  EXPECT_EQ(in_path("/send/{key}", "/x?/send/k"), "");
  EXPECT_EQ(in_path("/jobs/{key}/send", "/jobs/k"), "");
  EXPECT_EQ(in_path("/jobs/{key}/send", "/jobs/send"), "");
  EXPECT_EQ(in_path("/send", "/send"), "");
}

TEST(KeySource, APathIsPercentDecoded) {
  EXPECT_EQ(in_path("/send/{key}", "/send/a%2Fb%20c%00%c3%a9"), std::string("a/b c\0é", 8));
  EXPECT_EQ(in_path("/send/{key}", "/send/%41"), "A");
  EXPECT_EQ(in_path("/send/{key}", "/send/a+b"), "a+b");
  EXPECT_EQ(in_path("/send/{key}", "/send/100%"), "100%");
  EXPECT_EQ(in_path("/send/{key}", "/send/%4"), "%4");
  EXPECT_EQ(in_path("/send/{key}", "/send/%zz"), "%zz");
}

TEST(KeySource, TheFirstSourceThatYieldsWins) {
  ReceivedRequest request;
  request.target = "/send/from-path";
  request.fields = {{"X-Empty", ""}};
  request.body = R"({"k":"from-body"})";
  const KeySource empty{.kind = KeySource::Kind::header, .where = "X-Empty"};
  const KeySource json{.kind = KeySource::Kind::json, .where = "k"};
  const KeySource path{.kind = KeySource::Kind::path, .where = "/send/{key}"};
  EXPECT_EQ(find_first_key({empty, json, path}, request), "from-body");
  EXPECT_EQ(find_first_key({path, json}, request), "from-path");
  EXPECT_EQ(find_first_key({empty}, request), "");
  EXPECT_EQ(find_first_key({}, request), "");
}

}  // namespace
}  // namespace halfsent
