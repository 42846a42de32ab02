#include <gtest/gtest.h>

#include <chrono>
#include <string_view>

#include "fakes/downstream.h"
#include "fakes/test_bench.h"

namespace halfsent {
namespace {

using namespace testing;
using namespace std::chrono_literals;

// Sends one request with `key` and gives what accepting it at `now` says.
bool deduplicates(Bench& bench, std::string_view key, Nanoseconds now) {
  bench.client().send(post("/", key));
  EXPECT_TRUE(bench.pump_until_arrivals(bench.arrivals.size() + 1));
  return bench.downstream().accept(bench.arrivals.back().id, now).deduplicated;
}

TEST(DownstreamDedupe, AKeyIsRememberedForTheDedupeWindowFromItsEffectOn) {
  DownstreamConfig config = config_with(header_key());
  config.dedupe_window = 600s;
  Bench bench(config);
  EXPECT_FALSE(deduplicates(bench, "k", 100s));
  EXPECT_TRUE(deduplicates(bench, "k", 100s));
  EXPECT_FALSE(deduplicates(bench, "other", 101s));
  EXPECT_TRUE(deduplicates(bench, "k", 699s));
  EXPECT_FALSE(deduplicates(bench, "k", 700s)) << "a repeat inside the window must not make it longer";
  EXPECT_TRUE(deduplicates(bench, "k", 1299s)) << "the new effect begins a new window";
}

TEST(DownstreamDedupe, AKeyThatIsStoredLateIsNotKnownUntilThen) {
  DownstreamConfig config = config_with(header_key());
  config.key_lag = 2s;
  Bench bench(config);
  EXPECT_FALSE(deduplicates(bench, "k", 10s));
  EXPECT_FALSE(deduplicates(bench, "k", 11s));
  EXPECT_TRUE(deduplicates(bench, "k", 12s)) << "the first effect's key is stored, whatever came in between";
}

TEST(DownstreamDedupe, ARequestWithoutAKeyIsAlwaysANewEffect) {
  Bench bench(config_with(header_key()));
  EXPECT_FALSE(deduplicates(bench, "", 0ns));
  EXPECT_FALSE(deduplicates(bench, "", 0ns));
}

TEST(DownstreamDedupe, ADownstreamThatDoesNotHonourKeysNeverDeduplicates) {
  DownstreamConfig config = config_with(header_key());
  config.honours_key = false;
  Bench bench(config);
  EXPECT_FALSE(deduplicates(bench, "k", 0ns));
  EXPECT_FALSE(deduplicates(bench, "k", 0ns));
  EXPECT_EQ(bench.arrivals[1].key, "k") << "the key is still told";
}

TEST(DownstreamDedupe, ADeduplicatedRequestIsAnsweredLikeTheFirst) {
  Bench bench(config_with(header_key()));
  bench.on_arrival = [&](const Arrival& arrival) {
    EXPECT_EQ(bench.downstream().accept(arrival.id, 0ns).deduplicated, arrival.id == 2);
    bench.downstream().answer(arrival.id, {});
  };
  Client& client = bench.client();
  client.send(post("/", "k") + post("/", "k"));
  ASSERT_TRUE(bench.pump_until([&] { return client.received() == accepted_response + accepted_response; }));
}

}  // namespace
}  // namespace halfsent
