#include "harness/cli/init_guess.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/cli/init_words.h"

namespace halfsent::init {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using namespace std::chrono_literals;

Column text(const std::string& name) { return {.name = name, .type = "TEXT"}; }
Column number(const std::string& name) { return {.name = name, .type = "INTEGER"}; }
Column key(const std::string& name) {
  return {.name = name, .type = "TEXT", .not_null = true, .primary_key = 1, .unique = true};
}

// A row's life: its values at 0 s, 1 s, 2 s ...
RowStory story(const std::string& table, const std::string& row, const std::vector<std::vector<std::string>>& values) {
  RowStory story{.table = table, .row = row, .versions = {}};
  for (const auto& version : values) story.versions.push_back({.at = story.versions.size() * 1s, .values = version});
  return story;
}

ReceivedRequest request(std::vector<HeaderField> fields, const std::string& body = "",
                        const std::string& target = "/send", const std::string& method = "POST") {
  ReceivedRequest one{.method = method, .target = target, .fields = std::move(fields), .body = body};
  one.fields.push_back({"Host", "127.0.0.1"});
  one.fields.push_back({"Content-Length", "1"});
  return one;
}

const Table mails{.name = "mails", .columns = {key("ref"), text("status"), number("tries"), number("held_until")}};

std::vector<RowStory> two_mails() {
  // 1700006400 is a midnight.
  return {
      story("mails", "1",
            {{"'a'", "'fresh'", "0", "NULL"}, {"'a'", "'busy'", "1", "1700006461"}, {"'a'", "'gone'", "1", "NULL"}}),
      story("mails", "2", {{"'b'", "'fresh'", "0", "NULL"}, {"'b'", "'busy'", "1", "1700006461"}})};
}

TEST(InitGuess, ALiteralStandsForItsText) {
  EXPECT_EQ(plain("'it''s'"), "it's");
  EXPECT_EQ(plain("NULL"), "NULL");
  EXPECT_EQ(plain("-12"), "-12");
  EXPECT_EQ(plain("X'6162'"), "ab");
  EXPECT_EQ(plain("''"), "");
}

TEST(InitGuess, WordsAreToldByTheOrderInWhichRowsTakeThem) {
  const LedgerGuess guess = guess_ledger(mails, two_mails(), {}, {});
  EXPECT_EQ(guess.state_column, "status");
  EXPECT_THAT(guess.pending, ElementsAre("fresh"));
  EXPECT_THAT(guess.leased, ElementsAre("busy"));
  EXPECT_THAT(guess.delivered, ElementsAre("gone"));
  EXPECT_THAT(guess.flagged, IsEmpty());
  EXPECT_TRUE(guess.claim_seen);
  EXPECT_TRUE(guess.delivery_seen);
}

TEST(InitGuess, AWordOfAClaimThatHadRunOutAtTheStartIsNotPending) {
  const std::vector<RowStory> stories = {
      story("mails", "1",
            {{"'a'", "'busy'", "1", "9"}, {"'a'", "'busy'", "2", "1700006460"}, {"'a'", "'gone'", "2", "0"}}),
      story("mails", "2",
            {{"'b'", "'fresh'", "0", "NULL"}, {"'b'", "'busy'", "1", "1700006461"}, {"'b'", "'gone'", "1", "0"}})};
  const LedgerGuess guess = guess_ledger(mails, stories, {}, {});
  EXPECT_THAT(guess.pending, ElementsAre("fresh"));
  EXPECT_THAT(guess.leased, ElementsAre("busy"));
}

TEST(InitGuess, WhatTheTrialShowedGoesBeforeWhatAWordUsuallyMeans) {
  const Table table{.name = "t", .columns = {key("k"), text("status")}};
  const LedgerGuess guess =
      guess_ledger(table, {story("t", "1", {{"'a'", "'done'"}, {"'a'", "'new'"}, {"'a'", "'closed'"}})}, {}, {});
  EXPECT_THAT(guess.pending, ElementsAre("done"));
  EXPECT_THAT(guess.leased, ElementsAre("new"));
  EXPECT_THAT(guess.delivered, ElementsAre("closed"));
}

TEST(InitGuess, AJobThatEndsInAWordOfFailureIsNotDelivered) {
  const LedgerGuess guess = guess_ledger(
      mails,
      {story("mails", "1", {{"'a'", "'new'", "0", "NULL"}, {"'a'", "'busy'", "1", "9"}, {"'a'", "'dead'", "1", "9"}})},
      {}, {});
  EXPECT_THAT(guess.flagged, ElementsAre("dead"));
  EXPECT_THAT(guess.delivered, IsEmpty());
  EXPECT_FALSE(guess.delivery_seen);
}

TEST(InitGuess, WordsOfTheCheckAndOfOldRowsArePlacedByTheirMeaningAndTheRestIsUnclear) {
  Table table = mails;
  table.columns[1].allowed = {"fresh", "busy", "gone", "gave_up", "frozen"};
  const KnownWords words = {{"mails", {{"status", {"Delivery failed", "gone"}}}}};
  const LedgerGuess guess = guess_ledger(table, two_mails(), {}, words);
  EXPECT_THAT(guess.flagged, ElementsAre("gave_up", "Delivery failed"));
  EXPECT_THAT(guess.unclear, ElementsAre("frozen"));
}

TEST(InitGuess, WithoutATrialNamesAreAllThereIs) {
  Table table = mails;
  table.columns[1].default_sql = "'new'";
  table.columns[1].allowed = {"new", "sending", "sent", "bounced"};
  const LedgerGuess guess = guess_ledger(table, {}, {}, {});
  EXPECT_THAT(guess.pending, ElementsAre("new"));
  EXPECT_THAT(guess.leased, ElementsAre("sending"));
  EXPECT_THAT(guess.delivered, ElementsAre("sent"));
  EXPECT_THAT(guess.flagged, ElementsAre("bounced"));
  EXPECT_EQ(guess.attempts_column, "tries");
  EXPECT_EQ(guess.lease_column, "held_until");
  EXPECT_FALSE(guess.claim_seen);
  EXPECT_FALSE(guess.lease.has_value());
}

TEST(InitGuess, TheLeaseIsHowFarAheadAClaimSetsAMoment) {
  const LedgerGuess guess = guess_ledger(mails, two_mails(), {}, {});
  EXPECT_EQ(guess.lease_column, "held_until");
  EXPECT_EQ(guess.lease_sql, "held_until");
  EXPECT_EQ(guess.lease, 60s);
  EXPECT_FALSE(guess.lease_is_start);
}

LedgerGuess with_moment(const std::string& name, const std::string& value) {
  const Table table{.name = "t", .columns = {key("k"), text("status"), number(name)}};
  return guess_ledger(
      table, {story("t", "1", {{"'a'", "'new'", "NULL"}, {"'a'", "'busy'", value}, {"'a'", "'sent'", value}})}, {}, {});
}

TEST(InitGuess, MomentsAreReadInSecondsMillisecondsAndAsDates) {
  EXPECT_EQ(with_moment("held_until", "1700006431000").lease_sql, "held_until / 1000.0");
  EXPECT_EQ(with_moment("held_until", "1700006431000").lease, 30s);
  EXPECT_EQ(with_moment("ends", "'2023-11-15 00:00:46'").lease_sql, "unixepoch(ends)");
  EXPECT_EQ(with_moment("ends", "'2023-11-15 00:00:46'").lease, 45s);
}

TEST(InitGuess, AMomentOfTheClaimItselfIsTheStartOfALease) {
  const LedgerGuess guess = with_moment("locked_at", "1700006401");
  EXPECT_EQ(guess.lease_column, "locked_at");
  EXPECT_TRUE(guess.lease_is_start);
  EXPECT_FALSE(guess.lease.has_value());
}

TEST(InitGuess, ACountThatAClaimRaisesIsTheAttempts) {
  const Table table{.name = "t", .columns = {key("k"), text("status"), number("n"), number("size")}};
  const LedgerGuess guess =
      guess_ledger(table, {story("t", "1", {{"'a'", "'new'", "0", "7"}, {"'a'", "'busy'", "1", "7"}})}, {}, {});
  EXPECT_EQ(guess.attempts_column, "n");
}

TEST(InitGuess, AClaimThatLeavesTheStateAloneIsSeenInItsLock) {
  const Table table{.name = "t", .columns = {key("k"), text("status"), text("locked_by")}};
  const LedgerGuess guess = guess_ledger(
      table,
      {story("t", "1", {{"'a'", "'new'", "NULL"}, {"'a'", "'new'", "'worker-1'"}, {"'a'", "'sent'", "'worker-1'"}})},
      {}, {});
  EXPECT_EQ(guess.state_sql,
            "CASE WHEN status IN ('new') AND coalesce(locked_by, 0) NOT IN (0, '') THEN 'leased' ELSE status END");
  EXPECT_THAT(guess.leased, ElementsAre("leased"));
  EXPECT_TRUE(guess.claim_seen);
}

TEST(InitGuess, WithoutAStateColumnItsMomentsTellTheState) {
  const Table table{.name = "hooks", .columns = {key("k"), number("locked_until"), number("done_at")}};
  const LedgerGuess guess = guess_ledger(
      table,
      {story("hooks", "1",
             {{"'a'", "NULL", "NULL"}, {"'a'", "1700006431", "NULL"}, {"'a'", "1700006431", "1700006402"}})},
      {}, {});
  EXPECT_EQ(guess.state_column, "");
  EXPECT_EQ(
      guess.state_sql,
      "CASE WHEN coalesce(done_at, 0) NOT IN (0, '') THEN 'delivered' WHEN coalesce(locked_until, 0) NOT IN (0, '') "
      "THEN 'leased' ELSE 'pending' END");
  EXPECT_EQ(guess.lease, 30s);
}

TEST(InitGuess, ATableOfJobsHasAStateAndOthersDoNot) {
  const Table people{.name = "people", .columns = {key("name"), text("town")}};
  const Table log{.name = "log", .columns = {number("id"), text("line")}};
  EXPECT_EQ(guess_table({log, mails, people}, {}), "mails");
  EXPECT_EQ(guess_table({log, people}, {}), "");
}

TEST(InitGuess, OfTwoTablesWithAStateTheOneThatMovedHasTheJobs) {
  const Table accounts{.name = "accounts", .columns = {key("name"), text("status")}};
  EXPECT_EQ(guess_table({accounts, mails}, two_mails()), "mails");
  EXPECT_EQ(guess_table({accounts, mails}, {story("accounts", "1", {{"'x'", "'new'"}, {"'x'", "'sent'"}})}),
            "accounts");
}

TEST(InitGuess, TheKeyIsTheUniqueColumnWhoseValuesAreSent) {
  const Table table{.name = "mails",
                    .columns = {{.name = "id", .type = "INTEGER", .rowid = true, .primary_key = 1, .unique = true},
                                {.name = "ref", .type = "TEXT", .unique = true},
                                text("status")}};
  const std::vector<RowStory> stories = {story("mails", "1", {{"1", "'a'", "'new'"}, {"1", "'a'", "'sent'"}}),
                                         story("mails", "2", {{"2", "'b'", "'new'"}, {"2", "'b'", "'sent'"}})};
  const auto by_ref = {request({}, R"({"mail":{"ref":"a"}})"), request({}, R"({"mail":{"ref":"b"}})")};
  EXPECT_EQ(guess_ledger(table, stories, by_ref, {}).key_column, "ref");
  const auto by_id = {request({}, R"({"id":1})"), request({}, R"({"id":2})")};
  EXPECT_EQ(guess_ledger(table, stories, by_id, {}).key_column, "id");
  EXPECT_EQ(guess_ledger(table, stories, {}, {}).key_column, "ref");
}

TEST(InitGuess, AJsonMemberTellsTheJobAndIsNoIdempotencyKeyUnlessItSaysSo) {
  const KeyGuess plain_name =
      guess_key(mails, two_mails(), {request({}, R"({"ref":"a"})"), request({}, R"({"ref":"b"})")});
  EXPECT_FALSE(plain_name.key.has_value());
  ASSERT_EQ(plain_name.job.size(), 1u);
  EXPECT_EQ(to_text(plain_name.job[0]), "json ref");
  const KeyGuess told = guess_key(mails, two_mails(),
                                  {request({}, R"({"idempotencyKey":"a"})"), request({}, R"({"idempotencyKey":"b"})")});
  ASSERT_TRUE(told.key.has_value());
  EXPECT_EQ(to_text(*told.key), "json idempotencyKey");
}

TEST(InitGuess, AHeaderIsTheKeyByItsNameOrByItsValue) {
  const KeyGuess named = guess_key(mails, two_mails(), {request({{"idempotency-key", "x-1"}}, R"({"ref":"a"})")});
  EXPECT_EQ(to_text(*named.key), "header idempotency-key");
  EXPECT_EQ(to_text(named.job.at(0)), "json ref");
  const KeyGuess valued = guess_key(mails, two_mails(), {request({{"X-Mail", "a"}}), request({{"X-Mail", "b"}})});
  EXPECT_EQ(to_text(*valued.key), "header X-Mail");
}

TEST(InitGuess, APathWithTheKeyTellsTheJobAndForPutIsTheKey) {
  const KeyGuess posted =
      guess_key(mails, two_mails(), {request({}, "", "/mails/a/send?x=1"), request({}, "", "/mails/b/send")});
  EXPECT_FALSE(posted.key.has_value());
  EXPECT_EQ(to_text(posted.job.at(0)), "path /mails/{key}/send");
  const KeyGuess put =
      guess_key(mails, two_mails(), {request({}, "", "/mails/a", "PUT"), request({}, "", "/mails/b", "PUT")});
  EXPECT_EQ(to_text(*put.key), "path /mails/{key}");
}

TEST(InitGuess, HeadersThatEveryRequestHasAreNoKey) {
  const Table table{.name = "t", .columns = {key("k"), text("status")}};
  const KeyGuess guess = guess_key(table, {story("t", "1", {{"'1'", "'new'"}, {"'1'", "'sent'"}})}, {request({})});
  EXPECT_FALSE(guess.key.has_value());
  EXPECT_THAT(guess.job, IsEmpty());
}

TEST(InitWords, NamesOfColumnsSayWhatTheyAre) {
  const std::vector<std::pair<const char*, std::optional<ColumnRole>>> cases = {{"state", ColumnRole::state},
                                                                                {"jobStatus", ColumnRole::state},
                                                                                {"attempts", ColumnRole::attempts},
                                                                                {"retry_count", ColumnRole::attempts},
                                                                                {"next_retry_at", std::nullopt},
                                                                                {"retry_at", std::nullopt},
                                                                                {"lease_until", ColumnRole::lease_end},
                                                                                {"locked_until", ColumnRole::lease_end},
                                                                                {"visible_at", ColumnRole::lease_end},
                                                                                {"claimed_at", ColumnRole::lease_start},
                                                                                {"locked_by", ColumnRole::holder},
                                                                                {"token", ColumnRole::holder},
                                                                                {"delivered_at", ColumnRole::done_at},
                                                                                {"expires_at", std::nullopt},
                                                                                {"payload", std::nullopt}};
  for (const auto& [name, role] : cases) EXPECT_EQ(usual_role(text(name)), role) << name;
}

TEST(InitWords, WordsOfStatesHaveTheirUsualMeaning) {
  const std::vector<std::pair<const char*, std::optional<JobState>>> cases = {
      {"queued", JobState::pending},          {"NOT_SENT", JobState::pending},     {"unsent", JobState::pending},
      {"in_progress", JobState::leased},      {"Sending", JobState::leased},       {"sent", JobState::delivered},
      {"delivery failed", JobState::flagged}, {"needs_review", JobState::flagged}, {"purple", std::nullopt}};
  for (const auto& [word, meaning] : cases) EXPECT_EQ(usual_meaning(word), meaning) << word;
}

}  // namespace
}  // namespace halfsent::init
