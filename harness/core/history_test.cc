#include "harness/core/history.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <xxhash.h>

#include <algorithm>
#include <array>

#include "harness/core/test_bytes.h"

namespace halfsent {
namespace {

using testing::HasSubstr;

rc::Gen<JobState> any_state() {
  return rc::gen::map(rc::gen::inRange(0, 6), [](int value) { return static_cast<JobState>(value); });
}
rc::Gen<Seq> any_seq() { return rc::gen::oneOf(rc::gen::arbitrary<Seq>(), rc::gen::just(no_seq)); }
Nanoseconds any_time() { return Nanoseconds(*rc::gen::arbitrary<std::int64_t>()); }
template <class T>
T any() {
  return *rc::gen::arbitrary<T>();
}

template <std::size_t I>
EventBody body() {
  using T = std::variant_alternative_t<I, EventBody>;
  if constexpr (std::is_same_v<T, Stopped>) {
    return Stopped{*any_bytes(), *any_bytes(), *any_bytes(), any<std::uint64_t>(), any<bool>()};
  } else if constexpr (std::is_same_v<T, Waiting>) {
    return Waiting{*any_bytes(), *any_bytes(), any_time()};
  } else if constexpr (std::is_same_v<T, Requested>) {
    return Requested{any<std::uint64_t>(), *any_bytes(), *any_bytes(), *any_bytes(), *any_bytes(),
                     any<int>(),           any<bool>(),  *any_seq(),   *any_bytes()};
  } else if constexpr (std::is_same_v<T, Accepted>) {
    return Accepted{any<std::uint64_t>(), *any_bytes(), any<bool>()};
  } else if constexpr (std::is_same_v<T, Responded>) {
    return Responded{any<std::uint64_t>(), *any_bytes(), any<int>(), *any_bytes()};
  } else if constexpr (std::is_same_v<T, LedgerChanged>) {
    return LedgerChanged{*any_bytes(), *any_state(), *any_state(), *any_bytes(), any<std::int64_t>(),
                         any_time(),   *any_bytes(), *any_bytes(), *any_bytes(), *any_bytes(),
                         *any_bytes(), any_time(),   any<int>()};
  } else if constexpr (std::is_same_v<T, CommitUncertain>) {
    return CommitUncertain{*any_bytes(), *any_state(), *any_state()};
  } else if constexpr (std::is_same_v<T, FaultFired>) {
    return FaultFired{any<int>(), *any_bytes()};
  } else if constexpr (std::is_same_v<T, Ended>) {
    return Ended{static_cast<Ended::How>(*rc::gen::inRange(0, 4)), any<int>()};
  } else if constexpr (std::is_same_v<T, Note>) {
    return Note{*any_bytes()};
  } else if constexpr (std::is_same_v<T, Finished>) {
    return Finished{*any_bytes(), *any_bytes()};
  } else {
    static_assert(std::is_same_v<T, Started> || std::is_same_v<T, Released>);
    return T{};
  }
}

// One event of each kind, so that no run of the property misses one.
template <std::size_t... I>
std::vector<EventBody> one_of_each(std::index_sequence<I...>) {
  return {body<I>()...};
}

History any_history() {
  History history{*any_bytes(), any<std::uint64_t>(), *any_bytes(), {}};
  for (EventBody& one : one_of_each(std::make_index_sequence<std::variant_size_v<EventBody>>())) {
    history.events.push_back({history.events.size(), any_time(), *any_bytes(), any<int>(), any<int>(), std::move(one)});
  }
  return history;
}

RC_GTEST_PROP(History, EveryKindOfEventComesBackFromItsLineWithAnyBytes, ()) {
  const History history = any_history();
  const std::string text = to_json_lines(history);
  const auto back = history_from_json_lines(text);
  if (!back) RC_FAIL(back.error().to_string());
  RC_ASSERT(*back == history);
  RC_ASSERT(to_json_lines(*back) == text);
  RC_ASSERT(static_cast<std::size_t>(std::ranges::count(text, '\n')) == history.events.size() + 1);
}

Event stopped_event() {
  return {.seq = 3,
          .at = Nanoseconds(100000),
          .actor = "worker-1",
          .incarnation = 1,
          .process = 0,
          .body = Stopped{.call = "sendto", .object = "downstream", .detail = "", .bytes = 120}};
}

TEST(History, AnEventHasItsKeysInAFixedOrder) {
  EXPECT_EQ(to_json_line(stopped_event()),
            R"({"seq":3,"t":100000,"actor":"worker-1","inc":1,"proc":0,"kind":"stopped","call":"sendto",)"
            R"("object":"downstream","detail":"","bytes":120,"holds_ledger_lock":false})");
  EXPECT_EQ(to_json_line({.seq = 4,
                          .at = Nanoseconds(-1),
                          .body = LedgerChanged{.key = "k\xff", .from = JobState::none, .to = JobState::pending}}),
            R"({"seq":4,"t":-1,"actor":"","inc":0,"proc":0,"kind":"ledger_changed","key":"k\udcff","from":"none",)"
            R"("to":"pending","raw_state":"","attempts":-1,"lease_until":-1})");
  EXPECT_THAT(to_json_line({.body = Requested{}}), HasSubstr(R"("first_send":null)"));
}

TEST(History, WhatOnlySomeRowsQueriesGiveIsWrittenWhereItIsGiven) {
  EXPECT_THAT(to_json_line({.body = LedgerChanged{.key = "k",
                                                  .token = "3",
                                                  .owner = "w",
                                                  .slot = "s",
                                                  .cohort = "c",
                                                  .authority = "2",
                                                  .due_at = Nanoseconds(0),
                                                  .rows = 2}}),
              testing::EndsWith(R"("attempts":-1,"lease_until":-1,"token":"3","owner":"w","slot":"s","cohort":"c",)"
                                R"("authority":"2","due_at":0,"rows":2})"));
}

TEST(History, TheFirstLineIsTheHeader) {
  const History history{.scenario = "polling", .seed = 7, .plan = "scenario polling; seed 7", .events = {}};
  EXPECT_EQ(to_json_lines(history),
            R"({"halfsent_history":1,"scenario":"polling","seed":7,"plan":"scenario polling; seed 7"})"
            "\n");
}

History small_history() {
  History history{.scenario = "s", .seed = 1, .plan = "p", .events = {}};
  history.events.push_back({.body = Started{}});
  history.events.push_back({.seq = 1, .body = Finished{"drained"}});
  return history;
}

TEST(History, TheLastNewLineAndCarriageReturnsMayBeMissingOrThere) {
  std::string text = to_json_lines(small_history());
  text.pop_back();
  EXPECT_EQ(*history_from_json_lines(text), small_history());
  text.insert(text.find('\n'), "\r");
  EXPECT_EQ(*history_from_json_lines(text), small_history());
}

struct Damage {
  std::string from;
  std::string to;
  int line;
  std::string message;
};

TEST(History, DamageIsNamedWithItsLine) {
  const std::string text = to_json_lines(small_history());
  const std::vector<Damage> damages = {
      {R"("halfsent_history":1)", R"("halfsent_history":2)", 1, "format 2"},
      {R"("seed":1)", R"("seed":-1)", 1, "'seed'"},
      {R"("scenario":"s",)", "", 1, "'scenario' is missing"},
      {R"("seq":1)", R"("seq":2)", 3, "event 1 was expected"},
      {R"("seq":1)", R"("seq":1.0)", 3, "'seq' is not a whole number"},
      {R"("proc":0,"kind":"started")", R"("proc":3000000000,"kind":"started")", 2, "'proc' is not a whole number"},
      {R"("kind":"started")", R"("kind":"restarted")", 2, "'restarted' is no kind of event"},
      {R"("kind":"started")", R"("kind":"started","more":1)", 2, "does not know"},
      {R"("reason":"drained")", R"("reason":7)", 3, "'reason' is not a string"},
      {R"("drained")", "\"\xff\"", 3, "not UTF-8"},
      {R"("drained")", R"("\udc00")", 3, "not JSON"},
      {R"("drained","detail":""})", R"("drai)", 3, "not JSON"},
      {"\n{\"seq\":1", "\n\n{\"seq\":1", 3, "not JSON"},
      {R"({"halfsent_history":1)", R"([{"halfsent_history":1)", 1, "not JSON"},
  };
  for (const Damage& damage : damages) {
    std::string broken = text;
    const std::string& from = damage.from;
    ASSERT_NE(broken.find(from), broken.npos) << from;
    broken.replace(broken.find(from), from.size(), damage.to);
    const auto result = history_from_json_lines(broken);
    ASSERT_FALSE(result.has_value()) << damage.to;
    EXPECT_EQ(result.error().code, ExitCode::usage);
    EXPECT_EQ(result.error().line, damage.line) << result.error().to_string();
    EXPECT_THAT(result.error().message, HasSubstr(damage.message));
    EXPECT_FALSE(result.error().mend.empty());
  }
  EXPECT_FALSE(history_from_json_lines("").has_value());
  EXPECT_FALSE(history_from_json_lines("[]\n").has_value());
}

TEST(History, ADigestIsXxh64OfTheLinesAfterTheHeader) {
  const History history = small_history();
  const std::string text = to_json_lines(history);
  const std::string lines = text.substr(text.find('\n') + 1);
  EXPECT_EQ(digest(history), fmt::format("{:016x}", XXH64(lines.data(), lines.size(), 0)));
  EXPECT_EQ(digest(History{}), "ef46db3751d8e999");  // of nothing, as xxh64 defines it
}

TEST(History, ADigestDependsOnEventsAndNotOnTheHeader) {
  History other = small_history();
  other.scenario = "t";
  other.seed = 2;
  other.plan = "q";
  EXPECT_EQ(digest(other), digest(small_history()));
  other.events[0].at = Nanoseconds(1);
  EXPECT_NE(digest(other), digest(small_history()));
}

TEST(History, AnActorIsLabelledWithItsProcessBelowTheRootOnly) {
  EXPECT_EQ(actor_label({.actor = "worker-1", .incarnation = 2, .process = 0, .body = Started{}}), "worker-1");
  EXPECT_EQ(actor_label({.actor = "worker-1", .incarnation = 2, .process = 2, .body = Started{}}), "worker-1/2");
}

TEST(History, EveryJobStateHasItsOwnName) {
  EXPECT_EQ(to_string(JobState::none), "none");
  EXPECT_EQ(to_string(JobState::pending), "pending");
  EXPECT_EQ(to_string(JobState::leased), "leased");
  EXPECT_EQ(to_string(JobState::delivered), "delivered");
  EXPECT_EQ(to_string(JobState::flagged), "flagged");
  EXPECT_EQ(to_string(JobState::unlisted), "unlisted");
}

}  // namespace
}  // namespace halfsent
