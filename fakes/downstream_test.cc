#include "fakes/downstream.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <xxhash.h>

#include <chrono>
#include <cstdio>
#include <stdexcept>

#include "fakes/request_reader.h"
#include "fakes/test_bench.h"

namespace halfsent {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using namespace testing;
using namespace std::chrono_literals;

std::string hex_digest(const std::string& body) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(XXH64(body.data(), body.size(), 0)));
  return text;
}

bool is_listening(int fd) {
  int listening = 0;
  socklen_t size = sizeof listening;
  EXPECT_EQ(getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listening, &size), 0);
  return listening != 0;
}

TEST(Downstream, ARequestArrivesWithAllThatIsKnownAboutIt) {
  DownstreamConfig config = config_with(header_key("idempotency-KEY"));
  config.job = {header_key("X-Job"), {.kind = KeySource::Kind::json, .where = "job.digest_key"}};
  Bench bench(config);
  Client& client = bench.client();
  const std::string body = R"({"job":{"digest_key":"4187:2026-W33"}})";
  client.send(post("/send?x=1", "k-1", body));
  ASSERT_TRUE(bench.pump_until_arrivals(1));
  const Arrival& arrival = bench.arrivals[0];
  EXPECT_EQ(arrival.id, 1u);
  EXPECT_EQ(arrival.connection, 1u);
  EXPECT_EQ(arrival.peer_port, client.port());
  EXPECT_EQ(arrival.key, "k-1");
  EXPECT_EQ(arrival.job, "4187:2026-W33");
  EXPECT_EQ(arrival.method, "POST");
  EXPECT_EQ(arrival.path, "/send?x=1");
  EXPECT_EQ(arrival.body_digest, hex_digest(body));
  EXPECT_EQ(arrival.index_on_connection, 0u);
}

TEST(Downstream, AWitnessSeesEachRequestAsItWasSent) {
  std::vector<ReceivedRequest> seen;
  DownstreamConfig config = config_with(header_key("idempotency-key"));
  config.witness = [&seen](const ReceivedRequest& request) { seen.push_back(request); };
  Bench bench(config);
  bench.client().send(post("/send?x=1", "k-1", "{}"));
  ASSERT_TRUE(bench.pump_until_arrivals(1));
  ASSERT_EQ(seen.size(), 1u);
  EXPECT_EQ(seen[0].target, "/send?x=1");
  EXPECT_EQ(seen[0].body, "{}");
  EXPECT_THAT(seen[0].fields, Contains(Field(&HeaderField::value, "k-1")));
}

TEST(Downstream, NoByteOfTheAnswerIsSentBeforeItIsGiven) {
  Bench bench;
  Client& client = bench.client();
  client.send(post("/", "k"));
  ASSERT_TRUE(bench.pump_until_arrivals(1));
  bench.downstream().accept(1, 0ns);
  bench.settle();
  client.move();
  EXPECT_EQ(client.received(), "");
  bench.downstream().answer(1, {});
  ASSERT_TRUE(bench.pump_until([&] { return client.received().size() >= accepted_response.size(); }));
  EXPECT_EQ(client.received(), accepted_response) << "the whole of it, with no field that changes with the day";
}

TEST(Downstream, AConnectionIsKeptForTheNextRequest) {
  Bench bench;
  bench.answer_all();
  Client& client = bench.client();
  client.send(post("/a", "k1"));
  ASSERT_TRUE(bench.pump_until([&] { return client.received() == accepted_response; }));
  client.send(post("/b", "k2"));
  ASSERT_TRUE(bench.pump_until([&] { return client.received() == accepted_response + accepted_response; }));
  EXPECT_EQ(bench.arrivals[1].connection, bench.arrivals[0].connection);
  EXPECT_EQ(bench.arrivals[1].index_on_connection, 1u);
  EXPECT_FALSE(client.ended());
}

TEST(Downstream, ThreeRequestsInOneSegmentAreServedOneAfterAnother) {
  Bench bench(config_with(header_key()));
  Client& client = bench.client();
  client.send(post("/1", "a") + post("/2", "b", "body") + post("/3", "c"));
  for (std::size_t n = 1; n <= 3; ++n) {
    ASSERT_TRUE(bench.pump_until_arrivals(n));
    bench.settle();
    ASSERT_EQ(bench.arrivals.size(), n) << "the next is parsed only when the one before is answered";
    EXPECT_FALSE(bench.downstream().has_partial_request()) << "nobody must wait for more bytes here";
    EXPECT_EQ(bench.arrivals.back().index_on_connection, n - 1);
    bench.downstream().answer(bench.arrivals.back().id, {.status = static_cast<int>(200 + n)});
  }
  ASSERT_TRUE(bench.pump_until([&] { return client.received().find("HTTP/1.1 203") != std::string::npos; }));
  const std::string& all = client.received();
  EXPECT_LT(all.find("HTTP/1.1 201"), all.find("HTTP/1.1 202"));
  EXPECT_LT(all.find("HTTP/1.1 202"), all.find("HTTP/1.1 203"));
  EXPECT_EQ(bench.arrivals[2].key, "c");
}

TEST(Downstream, TheAnswerAfterConnectionCloseIsTheLast) {
  Bench bench;
  bench.answer_all();
  Client& client = bench.client();
  client.send(post("/", "k", "", "Connection: close\r\n") + post("/never", "k2"));
  ASSERT_TRUE(bench.pump_until([&] { return client.ended(); }));
  EXPECT_TRUE(client.eof());
  EXPECT_THAT(client.received(), HasSubstr("200 OK"));
  EXPECT_THAT(client.received(), HasSubstr("Connection: close\r\n"));
  EXPECT_EQ(bench.arrivals.size(), 1u);
  client.close_all();
  EXPECT_TRUE(bench.pump_until_no_connection());
}

TEST(Downstream, Http10ClosesUnlessKeepAliveIsAskedFor) {
  Bench bench;
  bench.answer_all();
  Client& plain = bench.client();
  plain.send("GET /a HTTP/1.0\r\n\r\n");
  ASSERT_TRUE(bench.pump_until([&] { return plain.eof(); }));
  EXPECT_THAT(plain.received(), HasSubstr("Connection: close\r\n"));
  Client& keeping = bench.client();
  keeping.send("GET /b HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  ASSERT_TRUE(bench.pump_until([&] { return keeping.received().ends_with("}"); }));
  EXPECT_THAT(keeping.received(), HasSubstr("Connection: keep-alive\r\n"));
  keeping.send("GET /c HTTP/1.0\r\n\r\n");
  ASSERT_TRUE(bench.pump_until([&] { return keeping.eof(); }));
  EXPECT_EQ(bench.arrivals.size(), 3u);
}

TEST(Downstream, HeadIsAnsweredWithTheLengthAndNoBody) {
  Bench bench;
  bench.answer_all();
  Client& client = bench.client();
  client.send("HEAD / HTTP/1.1\r\n\r\nGET / HTTP/1.1\r\nConnection: close\r\n\r\n");
  ASSERT_TRUE(bench.pump_until([&] { return client.eof(); }));
  EXPECT_TRUE(client.received().starts_with(
      "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 21\r\n\r\nHTTP/1.1 200 OK\r\n"))
      << client.received();
}

TEST(Downstream, ContinueIsSentAsSoonAsTheHeaderIsThere) {
  Bench bench;
  bench.answer_all();
  Client& client = bench.client();
  client.send("POST / HTTP/1.1\r\nExpect: 100-Continue\r\nContent-Length: 4\r\n\r\n");
  ASSERT_TRUE(bench.pump_until([&] { return client.received() == "HTTP/1.1 100 Continue\r\n\r\n"; }));
  EXPECT_TRUE(bench.arrivals.empty());
  EXPECT_TRUE(bench.downstream().has_partial_request());
  client.send("body");
  ASSERT_TRUE(bench.pump_until([&] { return client.received().ends_with("}"); }));
  EXPECT_EQ(client.received(), "HTTP/1.1 100 Continue\r\n\r\n" + accepted_response);
  EXPECT_EQ(bench.arrivals.at(0).body_digest, hex_digest("body"));
}

TEST(Downstream, AChunkedBodyIsPutTogether) {
  Bench bench(config_with({.kind = KeySource::Kind::json, .where = "digest_key"}));
  Client& client = bench.client();
  client.send("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n8\r\n{\"digest\r\n9;x=y\r\n_key\":\"k1\r\n");
  client.send("3\r\n\"}\n\r\n0\r\nX-Trailer: t\r\n\r\n");
  ASSERT_TRUE(bench.pump_until_arrivals(1));
  EXPECT_EQ(bench.arrivals[0].key, "k1");
  EXPECT_EQ(bench.arrivals[0].body_digest, hex_digest("{\"digest_key\":\"k1\"}\n"));
}

TEST(Downstream, ABodyOfTenMegabytesArrivesOverManyPumps) {
  Bench bench;
  Client& client = bench.client();
  std::string body(10u << 20, 'x');
  for (std::size_t i = 0; i < body.size(); i += 1000) body[i] = static_cast<char>(i / 1000);
  client.send(post("/", "big", body));
  ASSERT_TRUE(bench.pump_until([&] { return bench.downstream().has_partial_request(); }));
  EXPECT_TRUE(bench.arrivals.empty());
  ASSERT_TRUE(bench.pump_until_arrivals(1));
  EXPECT_GT(bench.pumps, 10);
  EXPECT_EQ(bench.arrivals[0].body_digest, hex_digest(body));
  EXPECT_FALSE(bench.downstream().has_partial_request());
}

TEST(Downstream, AKeyOfTenKilobytesIsAKey) {
  Bench bench(config_with(header_key()));
  const std::string key(10'000, 'k');
  bench.client().send(post("/", key));
  ASSERT_TRUE(bench.pump_until_arrivals(1));
  EXPECT_EQ(bench.arrivals[0].key, key);
  bench.downstream().accept(1, 0ns);
  bench.client().send(post("/", key));
  ASSERT_TRUE(bench.pump_until_arrivals(2));
  EXPECT_TRUE(bench.downstream().accept(2, 1ns).deduplicated);
}

TEST(Downstream, KeysWithQuotesNewLinesAndNulAreToldApart) {
  Bench bench(config_with({.kind = KeySource::Kind::json, .where = "digest_key"}));
  bench.answer_all();
  Client& client = bench.client();
  client.send(post("/", "", R"({"digest_key":"a\"b\n\u0000c"})") + post("/", "", R"({"digest_key":"a\"b\n\u0000d"})"));
  ASSERT_TRUE(bench.pump_until_arrivals(2));
  EXPECT_EQ(bench.arrivals[0].key, std::string("a\"b\n\0c", 6));
  bench.downstream().accept(1, 0ns);
  EXPECT_FALSE(bench.downstream().accept(2, 0ns).deduplicated) << "the NUL must not end the key";
}

TEST(Downstream, ArrivalsOfOnePumpComeInTheOrderOfTheirConnections) {
  Bench bench(config_with(header_key()));
  Client& first = bench.client();
  ASSERT_TRUE(bench.pump_until([&] { return bench.downstream().descriptors().size() == 2; }));
  Client& second = bench.client();
  ASSERT_TRUE(bench.pump_until([&] { return bench.downstream().descriptors().size() == 3; }));
  second.send(post("/", "second"));
  second.move();
  first.send(post("/", "first"));
  first.move();
  for (const int fd : bench.downstream().descriptors()) {
    pollfd waits{.fd = fd, .events = POLLIN, .revents = 0};
    if (is_listening(fd)) continue;
    ASSERT_EQ(poll(&waits, 1, hang_limit_ms), 1);
  }
  ASSERT_TRUE(bench.pump_until_arrivals(2));
  EXPECT_EQ(bench.arrivals[0].key, "first");
  EXPECT_EQ(bench.arrivals[1].key, "second");
  EXPECT_EQ(bench.arrivals[1].connection, 2u);
}

TEST(Downstream, WhatAGoneClientAskedForHasArrivedAndAnsweringDoesNothing) {
  for (const AnswerMode mode : {AnswerMode::full, AnswerMode::half, AnswerMode::drop, AnswerMode::reset}) {
    for (const bool aborts : {false, true}) {
      Bench bench(config_with(header_key()));
      Client& client = bench.client();
      client.send(post("/", "k", "body"));
      ASSERT_TRUE(bench.pump_until([&] { return client.all_sent(); }));
      const std::uint16_t port = client.port();
      aborts ? client.abort() : client.close_all();
      ASSERT_TRUE(bench.pump_until([&] { return !bench.closed.empty() && !bench.arrivals.empty(); }));
      EXPECT_EQ(bench.arrivals[0].key, "k");
      EXPECT_THAT(bench.closed, ElementsAre(port));
      EXPECT_FALSE(bench.downstream().accept(1, 0ns).deduplicated);
      bench.downstream().answer(1, {.mode = mode});
      bench.settle();
      EXPECT_FALSE(bench.downstream().has_unwritten());
      EXPECT_THAT(bench.closed, ElementsAre(port)) << "told once";
      EXPECT_TRUE(bench.pump_until_no_connection());
    }
  }
}

TEST(Downstream, AllCompleteRequestsOfAGoneClientArrive) {
  Bench bench(config_with(header_key()));
  bench.answer_all();
  Client& client = bench.client();
  client.send(post("/", "a") + post("/", "b") + post("/", "c") + "POST /half HTT");
  ASSERT_TRUE(client.move());
  client.abort();
  ASSERT_TRUE(bench.pump_until([&] { return !bench.closed.empty() && bench.arrivals.size() == 3; }));
  EXPECT_TRUE(bench.pump_until_no_connection());
  EXPECT_EQ(bench.arrivals.size(), 3u);
  EXPECT_TRUE(bench.bad.empty()) << "a request cut by the end of its client is not malformed";
}

TEST(Downstream, AClientThatHasClosedItsSideOnlyStillGetsItsAnswer) {
  Bench bench;
  Client& client = bench.client();
  client.send(post("/", "k"));
  client.half_close();
  ASSERT_TRUE(bench.pump_until([&] { return !bench.closed.empty() && !bench.arrivals.empty(); }));
  bench.downstream().answer(1, {});
  ASSERT_TRUE(bench.pump_until([&] { return client.eof(); }));
  EXPECT_EQ(client.received(), accepted_response);
}

TEST(Downstream, ARequestThatEndsInTheMiddleDoesNotKeepItsClientWaiting) {
  Bench bench;
  Client& client = bench.client();
  client.send("POST / HTTP/1.1\r\nContent-Length: 10\r\n\r\nhalf");
  client.half_close();
  ASSERT_TRUE(bench.pump_until([&] { return client.eof(); }));
  EXPECT_TRUE(bench.arrivals.empty());
  EXPECT_TRUE(bench.bad.empty());
  EXPECT_FALSE(bench.downstream().has_partial_request());
}

TEST(Downstream, AnswersThatAClientDoesNotReadAreKeptUntilItDoes) {
  Bench bench;
  bench.answer_all();
  Client& client = bench.client();
  client.reads(false);
  std::size_t sent = 0;
  // Each round is drained by the downstream before the next, so only the answers pile up.
  while (!bench.downstream().has_unwritten() && sent < 200'000) {
    for (int i = 0; i < 1000; ++i) client.send("GET / HTTP/1.1\r\n\r\n");
    sent += 1000;
    ASSERT_TRUE(bench.pump_until([&] { return bench.arrivals.size() == sent; }));
  }
  ASSERT_TRUE(bench.downstream().has_unwritten());
  client.reads(true);
  ASSERT_TRUE(bench.pump_until([&] { return client.received().size() == sent * accepted_response.size(); }));
  EXPECT_FALSE(bench.downstream().has_unwritten());
}

TEST(Downstream, AnsweringTwiceOrWhatNeverCameIsRefused) {
  Bench bench;
  bench.client().send(post("/", "k"));
  ASSERT_TRUE(bench.pump_until_arrivals(1));
  bench.downstream().answer(1, {});
  EXPECT_THROW(bench.downstream().answer(1, {}), std::logic_error);
  EXPECT_THROW(bench.downstream().answer(2, {}), std::logic_error);
  EXPECT_THROW(bench.downstream().accept(2, 0ns), std::logic_error);
}

TEST(Downstream, ListensOnLoopbackOnlyAndLeaksNoDescriptor) {
  const auto fd = Downstream::listen(0);
  ASSERT_TRUE(fd.has_value());
  EXPECT_EQ(local_address(*fd).sin_addr.s_addr, htonl(INADDR_LOOPBACK));
  Downstream downstream({}, *fd);
  Client client(ntohs(local_address(*fd).sin_port));
  pollfd waits{.fd = *fd, .events = POLLIN, .revents = 0};
  ASSERT_EQ(poll(&waits, 1, hang_limit_ms), 1);
  downstream.pump();
  const auto descriptors = downstream.descriptors();
  ASSERT_EQ(descriptors.size(), 2u);
  for (const int each : descriptors) {
    EXPECT_TRUE(fcntl(each, F_GETFD) & FD_CLOEXEC);
    EXPECT_TRUE(fcntl(each, F_GETFL) & O_NONBLOCK);
  }
}

TEST(Downstream, ATakenPortIsNamedTogetherWithTheMend) {
  const auto first = Downstream::listen(0);
  ASSERT_TRUE(first.has_value());
  const std::uint16_t port = ntohs(local_address(*first).sin_port);
  const auto second = Downstream::listen(port);
  ASSERT_TRUE(second.has_error());
  EXPECT_EQ(second.error().code, ExitCode::harness_fault);
  EXPECT_THAT(second.error().message, HasSubstr("port " + std::to_string(port) + ": Address already in use"));
  EXPECT_THAT(second.error().mend, HasSubstr("another port in [downstream]"));
  close(*first);
}

TEST(Downstream, APortCanBeUsedAgainRightAfterAConnectionWasClosedByUs) {
  std::uint16_t port = 0;
  {
    Bench bench;
    bench.answer_all({.mode = AnswerMode::drop});
    port = bench.port();
    Client& client = bench.client();
    client.send(post("/", "k"));
    ASSERT_TRUE(bench.pump_until([&] { return client.eof(); }));
    client.close_all();
    ASSERT_TRUE(bench.pump_until_no_connection());
  }
  const auto again = Downstream::listen(port);
  ASSERT_TRUE(again.has_value()) << again.error().message;
  close(*again);
}

struct Sent {
  std::string key;
  std::string body;
  std::vector<std::size_t> chunks;  // empty: sent with Content-Length
};

std::string on_the_wire(const Sent& sent) {
  std::string text = "POST /send HTTP/1.1\r\nIdempotency-Key: " + sent.key + "\r\n";
  if (sent.chunks.empty()) return text + "Content-Length: " + std::to_string(sent.body.size()) + "\r\n\r\n" + sent.body;
  text += "Transfer-Encoding: chunked\r\n\r\n";
  std::size_t at = 0;
  for (std::size_t i = 0; at < sent.body.size(); ++i) {
    const std::string chunk = sent.body.substr(at, 1 + sent.chunks[i % sent.chunks.size()]);
    char size[20];
    std::snprintf(size, sizeof size, "%zx\r\n", chunk.size());
    text += size + chunk + "\r\n";
    at += chunk.size();
  }
  return text + "0\r\n\r\n";
}

RC_GTEST_PROP(Downstream, HowTheBytesOfValidRequestsAreSplitDoesNotMatter, ()) {
  const auto key = rc::gen::nonEmpty(rc::gen::container<std::string>(rc::gen::inRange<char>('!', '~')));
  const auto body = rc::gen::container<std::string>(rc::gen::arbitrary<char>());
  const auto chunks = rc::gen::container<std::vector<std::size_t>>(rc::gen::inRange<std::size_t>(0, 20));
  const auto sent =
      *rc::gen::nonEmpty(rc::gen::container<std::vector<Sent>>(rc::gen::construct<Sent>(key, body, chunks)));
  std::string stream;
  for (const Sent& each : sent) stream += on_the_wire(each);
  const auto lengths =
      *rc::gen::nonEmpty(rc::gen::container<std::vector<std::size_t>>(rc::gen::weightedOneOf<std::size_t>(
          {{3, rc::gen::inRange<std::size_t>(1, 8)}, {1, rc::gen::inRange<std::size_t>(1, 300)}})));

  Bench bench(config_with(header_key()));
  bench.answer_all();
  Client& client = bench.client();
  for (std::size_t at = 0, i = 0; at < stream.size(); ++i) {
    const std::size_t length = lengths[i % lengths.size()];
    client.send(std::string_view(stream).substr(at, length));
    RC_ASSERT(client.move());
    bench.settle();
    at += length;
  }
  RC_ASSERT(static_cast<bool>(bench.pump_until_arrivals(sent.size())));
  bench.settle();
  RC_ASSERT(bench.arrivals.size() == sent.size());
  RC_ASSERT(bench.bad.empty());
  RC_ASSERT(!bench.downstream().has_partial_request());
  for (std::size_t i = 0; i < sent.size(); ++i) {
    RC_ASSERT(bench.arrivals[i].id == i + 1);
    RC_ASSERT(bench.arrivals[i].index_on_connection == i);
    RC_ASSERT(bench.arrivals[i].key == sent[i].key);
    RC_ASSERT(bench.arrivals[i].body_digest == hex_digest(sent[i].body));
  }
}

}  // namespace
}  // namespace halfsent
