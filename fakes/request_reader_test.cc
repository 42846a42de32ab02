#include "fakes/request_reader.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <optional>

namespace halfsent {
namespace {

struct Outcome {
  std::vector<ReceivedRequest> requests;
  std::optional<BadRequest> bad;
  bool partial = false;
};

// `lengths`: of the pieces, used again and again; empty: all at once.
Outcome read_all(std::string_view stream, const std::vector<std::size_t>& lengths = {}, std::size_t max_header = 4096,
                 std::size_t max_body = 1000) {
  RequestReader reader(max_header, max_body);
  Outcome outcome;
  for (std::size_t at = 0, i = 0; at < stream.size() && !outcome.bad; ++i) {
    const std::size_t length = lengths.empty() ? stream.size() : lengths[i % lengths.size()];
    reader.append(stream.substr(at, length));
    at += length;
    RequestReader::Outcome now;
    while ((now = reader.read()) == RequestReader::Outcome::request) outcome.requests.push_back(reader.take());
    if (now == RequestReader::Outcome::bad) outcome.bad = reader.bad();
  }
  outcome.partial = reader.partial();
  return outcome;
}

TEST(RequestReader, EveryPartOfARequestIsKept) {
  const Outcome outcome = read_all("PATCH /a?b HTTP/1.0\r\nA: 1\r\na:  2 \r\nContent-Length: 3\r\n\r\nxyz");
  ASSERT_EQ(outcome.requests.size(), 1u);
  const ReceivedRequest& request = outcome.requests[0];
  EXPECT_EQ(request.method, "PATCH");
  EXPECT_EQ(request.target, "/a?b");
  EXPECT_EQ(request.body, "xyz");
  EXPECT_TRUE(request.http10);
  EXPECT_FALSE(request.keep_alive);
  const std::vector<HeaderField> expected{{"A", "1"}, {"a", "2"}, {"Content-Length", "3"}};
  EXPECT_EQ(request.fields, expected);
}

TEST(RequestReader, EmptyLinesBeforeARequestAreSkipped) {
  const std::string stream = "\r\n\r\nGET / HTTP/1.1\r\n\r\n\r\nGET /2 HTTP/1.1\r\n\r\n\r\n";
  for (const std::size_t length : {1u, 2u, 3u, 100u}) {
    const Outcome outcome = read_all(stream, {length});
    EXPECT_EQ(outcome.requests.size(), 2u);
    EXPECT_FALSE(outcome.bad);
    EXPECT_FALSE(outcome.partial);
  }
}

TEST(RequestReader, AHeaderOfExactlyTheLimitIsTaken) {
  const std::string begin = "GET / HTTP/1.1\r\nX: ";
  const std::string exact = begin + std::string(4096 - begin.size() - 4, 'a') + "\r\n\r\n";
  ASSERT_EQ(exact.size(), 4096u);
  for (const std::size_t length : {1u, 4096u}) {
    EXPECT_EQ(read_all(exact, {length}, 4096).requests.size(), 1u);
    const Outcome over = read_all(exact, {length}, 4095);
    ASSERT_TRUE(over.bad);
    EXPECT_EQ(over.bad->status, 431);
  }
}

TEST(RequestReader, ABodyOfExactlyTheLimitIsTaken) {
  const std::string with_length = "POST / HTTP/1.1\r\nContent-Length: 10\r\n\r\n0123456789";
  const std::string chunked =
      "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n01234\r\n5\r\n56789\r\n0\r\n\r\n";
  for (const std::string& stream : {with_length, chunked}) {
    EXPECT_EQ(read_all(stream, {}, 4096, 10).requests.size(), 1u);
    const Outcome over = read_all(stream, {}, 4096, 9);
    ASSERT_TRUE(over.bad);
    EXPECT_EQ(over.bad->status, 413);
  }
}

TEST(RequestReader, AFieldThatIsTooLongForTheParserIsRefusedEvenWhenTheLimitAllowsIt) {
  const std::string value(70'000, 'v');
  for (const std::string& field : {"X: " + value, value + ": x"}) {
    const Outcome outcome = read_all("GET / HTTP/1.1\r\n" + field + "\r\n\r\n", {}, 1u << 20);
    ASSERT_TRUE(outcome.bad);
    EXPECT_EQ(outcome.bad->status, 431);
  }
}

TEST(RequestReader, ChunksMayArriveByteByByte) {
  const std::string stream =
      "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3;q=\"a\"\r\nabc\r\n1\r\nd\r\n0\r\nT: x\r\nU: y\r\n\r\n"
      "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n";
  for (std::size_t length = 1; length <= stream.size(); ++length) {
    const Outcome outcome = read_all(stream, {length});
    ASSERT_EQ(outcome.requests.size(), 2u) << "pieces of " << length;
    EXPECT_EQ(outcome.requests[0].body, "abcd");
    EXPECT_EQ(outcome.requests[0].fields.size(), 1u) << "a trailer is no field of the header";
    EXPECT_EQ(outcome.requests[1].body, "");
    EXPECT_FALSE(outcome.partial);
  }
}

TEST(RequestReader, AnEndlessChunkHeaderOrTrailerIsRefused) {
  const std::string head = "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (const std::string& begin : {std::string("1;"), std::string("0\r\nT: ")}) {
    const Outcome outcome = read_all(head + begin + std::string(5000, 'x'), {100});
    ASSERT_TRUE(outcome.bad) << begin;
    EXPECT_EQ(outcome.bad->status, 431);
  }
}

TEST(RequestReader, ContinueIsDueOnceAndOnlyWhenABodyIsToCome) {
  const auto due = [](std::string_view text) {
    RequestReader reader(4096, 1000);
    reader.append(text);
    reader.read();
    const bool first = reader.take_expects_continue();
    EXPECT_FALSE(reader.take_expects_continue());
    return first;
  };
  EXPECT_TRUE(due("POST / HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n"));
  EXPECT_TRUE(due("POST / HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\nx"))
      << "also when the body came along: what is sent must not depend on how the bytes were split";
  EXPECT_TRUE(due("POST / HTTP/1.1\r\nExpect: 100-continue\r\nTransfer-Encoding: chunked\r\n\r\n"));
  EXPECT_FALSE(due("POST / HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 0\r\n\r\n"));
  EXPECT_FALSE(due("POST / HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n"));
  EXPECT_FALSE(due("POST / HTTP/1.1\r\nContent-Length: 1\r\n\r\n"));
}

TEST(RequestReader, TakingWhatIsNotThereIsRefused) {
  RequestReader reader(4096, 1000);
  EXPECT_THROW(reader.take(), std::logic_error);
}

// Valid pieces, and bytes changed in them: what no test writer thinks of.
rc::Gen<std::string> damaged_stream() {
  static const std::vector<std::string> pieces{
      "GET / HTTP/1.1\r\n\r\n",
      "POST /a HTTP/1.1\r\nIdempotency-Key: k\r\nContent-Length: 5\r\n\r\nhello",
      "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\na;e=v\r\n0123456789\r\n0\r\nT:x\r\n\r\n",
      "HEAD /x HTTP/1.0\r\nConnection: keep-alive\r\nX: a\r\n b\r\n\r\n",
      "PUT /y HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\nabc",
      "\r\n",
  };
  static const std::string interesting("\r\n\0 :;,0159afF\x7f\xff/.\t", 19);
  const auto change = rc::gen::pair(rc::gen::arbitrary<std::uint16_t>(),
                                    rc::gen::oneOf(rc::gen::elementOf(interesting), rc::gen::arbitrary<char>()));
  return rc::gen::apply(
      [](const std::vector<std::string>& chosen, const std::vector<std::pair<std::uint16_t, char>>& changes) {
        std::string stream;
        for (const std::string& piece : chosen) stream += piece;
        for (const auto& [at, byte] : changes) stream[at % stream.size()] = byte;
        return stream;
      },
      rc::gen::nonEmpty(rc::gen::container<std::vector<std::string>>(rc::gen::elementOf(pieces))),
      rc::gen::resize(6, rc::gen::container<std::vector<std::pair<std::uint16_t, char>>>(change)));
}

RC_GTEST_PROP(RequestReader, DamagedInputHasTheSameOutcomeHoweverItIsSplit, ()) {
  const std::string stream = *damaged_stream();
  const auto lengths =
      *rc::gen::nonEmpty(rc::gen::container<std::vector<std::size_t>>(rc::gen::inRange<std::size_t>(1, 12)));
  const Outcome whole = read_all(stream, {}, 300, 50);
  const Outcome pieces = read_all(stream, lengths, 300, 50);
  RC_ASSERT(whole.requests == pieces.requests);
  RC_ASSERT(whole.bad == pieces.bad);
  RC_ASSERT(whole.partial == pieces.partial);
}

}  // namespace
}  // namespace halfsent
