// What goes wrong on purpose: answers that are lost, and input that is no request.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ostream>
#include <string>

#include "fakes/downstream.h"
#include "fakes/test_bench.h"

namespace halfsent {
namespace {

using ::testing::HasSubstr;
using namespace testing;

struct Wrong {
  const char* name;
  std::string input;
  int status;
  friend std::ostream& operator<<(std::ostream& out, const Wrong& wrong) { return out << wrong.name; }
};

DownstreamConfig small_limits() {
  DownstreamConfig config = config_with(header_key());
  config.max_header_bytes = 1000;
  config.max_body_bytes = 100;
  return config;
}

class WrongInput : public ::testing::TestWithParam<Wrong> {};

TEST_P(WrongInput, IsToldOnceAnsweredAndClosed) {
  Bench bench(small_limits());
  bench.answer_all();
  Client& client = bench.client();
  client.send(GetParam().input);
  ASSERT_TRUE(bench.pump_until([&] { return client.ended(); }))
      << "no newline or body follows, and none must be needed";
  EXPECT_TRUE(client.eof()) << "a reset could destroy the answer";
  EXPECT_TRUE(client.received().starts_with("HTTP/1.1 " + std::to_string(GetParam().status) + " "))
      << client.received();
  EXPECT_THAT(client.received(), HasSubstr("\r\nConnection: close\r\n"));
  ASSERT_EQ(bench.bad.size(), 1u);
  EXPECT_EQ(bench.bad[0].status, GetParam().status);
  EXPECT_EQ(bench.bad[0].connection, 1u);
  EXPECT_EQ(bench.bad[0].peer_port, client.port());
  EXPECT_FALSE(bench.bad[0].why.empty());
  for (const char c : bench.bad[0].why) EXPECT_TRUE(c >= ' ' && c <= '~');
  EXPECT_TRUE(bench.arrivals.empty());
  EXPECT_FALSE(bench.downstream().has_partial_request());
  client.close_all();
  EXPECT_TRUE(bench.pump_until_no_connection());
  EXPECT_EQ(bench.bad.size(), 1u);
}

TEST_P(WrongInput, SplitIntoBytesHasTheSameOutcome) {
  Bench bench(small_limits());
  Client& client = bench.client();
  for (const char c : GetParam().input) {
    client.send({&c, 1});
    client.move();
    bench.settle();
  }
  ASSERT_TRUE(bench.pump_until([&] { return client.ended(); }));
  ASSERT_EQ(bench.bad.size(), 1u);
  EXPECT_EQ(bench.bad[0].status, GetParam().status);
  EXPECT_TRUE(client.eof());
}

TEST_P(WrongInput, DoesNotDisturbAnotherConnection) {
  Bench bench(small_limits());
  bench.answer_all();
  Client& good = bench.client();
  good.send("POST / HTTP/1.1\r\nContent-Length: 4\r\n\r\nbo");
  ASSERT_TRUE(bench.pump_until([&] { return bench.downstream().has_partial_request(); }));
  Client& wrong = bench.client();
  wrong.send(GetParam().input);
  ASSERT_TRUE(bench.pump_until([&] { return wrong.ended(); }));
  good.send("dy");
  ASSERT_TRUE(bench.pump_until([&] { return good.received() == accepted_response; }));
}

const std::string nul(1, '\0');

INSTANTIATE_TEST_SUITE_P(
    All, WrongInput,
    ::testing::Values(
        Wrong{"Http09Line", "GET /\r\n", 400}, Wrong{"Http09LineWithoutCr", "GET /\n", 400},
        Wrong{"NoVersion", "GET / HTT\r\n", 400}, Wrong{"Http2Preface", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400},
        Wrong{"TlsHello", "\x16\x03\x01\x02", 400}, Wrong{"OnlyNuls", nul + nul + nul, 400},
        Wrong{"NulInTarget", "GET /a" + nul + "b HTTP/1.1\r\n\r\n", 400},
        Wrong{"NulInField", "GET / HTTP/1.1\r\nX: a" + nul + "\r\n\r\n", 400},
        Wrong{"FieldWithoutColon", "GET / HTTP/1.1\r\nnonsense\r\n\r\n", 400},
        Wrong{"BareLf", "GET / HTTP/1.1\nHost: x\n\n", 400}, Wrong{"BareCr", "GET / HTTP/1.1\r\rHost: x", 400},
        Wrong{"NoMethod", " / HTTP/1.1\r\n\r\n", 400},
        Wrong{"LengthIsNoNumber", "POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", 400},
        Wrong{"TwoLengths", "POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 400},
        Wrong{"LengthAndChunked", "POST / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", 400},
        Wrong{"EncodingNotChunked", "POST / HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\n", 400},
        Wrong{"ChunkSizeIsNoNumber", "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\nabc\r\n", 400},
        Wrong{"HeaderBombOneField", "GET / HTTP/1.1\r\nX: " + std::string(2000, 'a'), 431},
        Wrong{"HeaderBombLine", "GET /" + std::string(2000, 'a'), 431},
        Wrong{"LengthTooLarge", "POST / HTTP/1.1\r\nContent-Length: 101\r\n\r\n", 413},
        Wrong{"LengthFarTooLarge", "POST / HTTP/1.1\r\nContent-Length: 18446744073709551615\r\n\r\n", 413},
        Wrong{"LengthTooLargeIsNotContinued", "POST / HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 101\r\n\r\n",
              413},
        Wrong{"ChunksTooLarge",
              "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n32\r\n" + std::string(50, 'a') + "\r\n33\r\nbbbbb",
              413}),
    [](const auto& each) { return std::string(each.param.name); });

TEST(WrongInputInAPipeline, IsToldOnlyAfterTheRequestBeforeItIsAnswered) {
  Bench bench;
  Client& client = bench.client();
  client.send(post("/", "k") + "rubbish\r\n\r\n");
  ASSERT_TRUE(bench.pump_until_arrivals(1));
  bench.settle();
  EXPECT_TRUE(bench.bad.empty());
  bench.downstream().answer(1, {});
  ASSERT_TRUE(bench.pump_until([&] { return client.eof(); }));
  EXPECT_EQ(bench.bad.size(), 1u);
  EXPECT_TRUE(client.received().starts_with(accepted_response + "HTTP/1.1 400 ")) << client.received();
}

TEST(WrongInputThatIsLarge, IsReadToItsEndSoThatTheClientSeesTheAnswer) {
  DownstreamConfig config = small_limits();
  Bench bench(config);
  Client& client = bench.client();
  client.send(post("/", "k", std::string(20u << 20, 'x')));
  ASSERT_TRUE(bench.pump_until([&] { return client.all_sent() && client.ended(); }));
  EXPECT_TRUE(client.eof()) << "error " << client.error();
  EXPECT_TRUE(client.received().starts_with("HTTP/1.1 413 ")) << client.received();
  EXPECT_EQ(bench.bad.size(), 1u);
}

TEST(LostAnswer, HalfIsCutInsideTheBody) {
  Bench bench;
  bench.answer_all({.mode = AnswerMode::half});
  Client& client = bench.client();
  client.send(post("/", "k"));
  ASSERT_TRUE(bench.pump_until([&] { return client.eof(); }));
  EXPECT_EQ(client.received(), accepted_response.substr(0, accepted_response.size() - 11));
  EXPECT_THAT(client.received(), HasSubstr("Content-Length: 21\r\n\r\n{"));
  client.close_all();
  EXPECT_TRUE(bench.pump_until_no_connection());
}

TEST(LostAnswer, HalfOfAnAnswerThatHasNoBodyIsTheWholeOfIt) {
  Bench bench;
  bench.answer_all({.mode = AnswerMode::half});
  Client& client = bench.client();
  client.send("HEAD / HTTP/1.1\r\n\r\n");
  ASSERT_TRUE(bench.pump_until([&] { return client.eof(); }));
  EXPECT_TRUE(client.received().ends_with("Content-Length: 21\r\n\r\n"));
}

TEST(LostAnswer, DropIsACleanEndWithoutAByte) {
  Bench bench;
  bench.answer_all({.mode = AnswerMode::drop});
  Client& client = bench.client();
  client.send(post("/", "k"));
  const std::uint16_t port = client.port();
  ASSERT_TRUE(bench.pump_until([&] { return client.ended(); }));
  EXPECT_TRUE(client.eof());
  EXPECT_EQ(client.received(), "");
  client.close_all();
  ASSERT_TRUE(bench.pump_until_no_connection());
  EXPECT_THAT(bench.closed, ::testing::ElementsAre(port));
}

TEST(LostAnswer, DropIsACleanEndAlsoWhileMoreIsBeingSent) {
  Bench bench;
  Client& client = bench.client();
  client.send(post("/", "k") + post("/", "k2", std::string(8u << 20, 'x')));
  ASSERT_TRUE(bench.pump_until_arrivals(1));
  // Unread input is in the socket now: to close it would reset the connection.
  bench.downstream().answer(1, {.mode = AnswerMode::drop});
  ASSERT_TRUE(bench.pump_until([&] { return client.all_sent() && client.ended(); }));
  EXPECT_TRUE(client.eof()) << "error " << client.error();
  EXPECT_EQ(client.received(), "");
  bench.settle();
  EXPECT_EQ(bench.arrivals.size(), 1u) << "nothing is served on a connection that was dropped";
  EXPECT_FALSE(bench.downstream().has_partial_request());
}

TEST(LostAnswer, ResetIsAResetWithoutAByte) {
  Bench bench;
  bench.answer_all({.mode = AnswerMode::reset});
  Client& client = bench.client();
  client.send(post("/", "k"));
  ASSERT_TRUE(bench.pump_until([&] { return client.ended(); }));
  EXPECT_EQ(client.error(), ECONNRESET);
  EXPECT_EQ(client.received(), "");
  EXPECT_EQ(bench.downstream().descriptors().size(), 1u);
}

TEST(LostAnswer, TheEarlierAnswersOfAPipelineAreNotLost) {
  for (const AnswerMode mode : {AnswerMode::drop, AnswerMode::half}) {
    Bench bench;
    bench.on_arrival = [&](const Arrival& arrival) {
      bench.downstream().answer(arrival.id, {.mode = arrival.id == 2 ? mode : AnswerMode::full});
    };
    Client& client = bench.client();
    client.send(post("/", "a") + post("/", "b") + post("/", "c"));
    ASSERT_TRUE(bench.pump_until([&] { return client.eof(); }));
    EXPECT_TRUE(client.received().starts_with(accepted_response));
    EXPECT_EQ(bench.arrivals.size(), 2u);
  }
}

TEST(Status, IsGivenAsAskedFor) {
  for (const int status : {201, 204, 301, 304, 409, 422, 500, 503, 599}) {
    Bench bench;
    bench.answer_all({.status = status});
    Client& client = bench.client();
    client.send(post("/", "k") + post("/", "k", "", "Connection: close\r\n"));
    ASSERT_TRUE(bench.pump_until([&] { return client.eof(); }));
    EXPECT_TRUE(client.received().starts_with("HTTP/1.1 " + std::to_string(status) + " "));
    EXPECT_EQ(bench.arrivals.size(), 2u) << "any status leaves the connection usable";
    const bool may_have_body = status != 204 && status != 304;
    EXPECT_EQ(client.received().find("Content-Length") != std::string::npos, may_have_body);
  }
}

TEST(Status, AnInterimOneAsTheLastWordEndsTheConnection) {
  Bench bench;
  bench.answer_all({.status = 102});
  Client& client = bench.client();
  client.send(post("/", "k"));
  ASSERT_TRUE(bench.pump_until([&] { return client.eof(); }));
  EXPECT_TRUE(client.received().starts_with("HTTP/1.1 102 "));
}

}  // namespace
}  // namespace halfsent
