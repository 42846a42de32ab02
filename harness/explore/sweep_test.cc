#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "harness/explore/strategy.h"
#include "harness/explore/sweep_stop.h"

namespace halfsent {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

Boundary boundary(Seq seq, std::string name, std::string key = "k", std::string actor = "worker-1",
                  int occurrence = 1) {
  return {
      .seq = seq, .name = std::move(name), .key = std::move(key), .actor = std::move(actor), .occurrence = occurrence};
}

std::vector<std::string> faults_of(const SweepPlan& plan) {
  std::vector<std::string> texts;
  for (const auto& cell : plan.cells) {
    std::string text;
    for (const Fault& fault : cell.faults) text += (text.empty() ? "" : "; ") + to_string(fault);
    texts.push_back(text);
  }
  return texts;
}

SweepPlan swept(const std::vector<Boundary>& boundaries, std::vector<FaultKind> faults) {
  return sweep(boundaries, SweepOptions{.faults = std::move(faults), .past_lease = 61s});
}

TEST(Sweep, ActorFaultsStrikeAtEveryStopOfAnActor) {
  const auto plan = swept({boundary(1, "after_claim"), boundary(4, "after_accept"), boundary(6, "file_sync")},
                          {FaultKind::kill, FaultKind::hold, FaultKind::term});
  EXPECT_THAT(faults_of(plan), ElementsAre("kill worker-1 at after_claim k", "hold worker-1 at after_claim k for 61s",
                                           "term worker-1 at after_claim k", "kill worker-1 at after_accept k",
                                           "hold worker-1 at after_accept k for 61s", "term worker-1 at after_accept k",
                                           "kill worker-1 at file_sync k", "hold worker-1 at file_sync k for 61s",
                                           "term worker-1 at file_sync k"));
  EXPECT_EQ(plan.windows, 3);
  EXPECT_EQ(plan.left_out, 0);
}

TEST(Sweep, DownstreamFaultsStrikeAroundTheAcceptOnly) {
  const auto plan = swept({boundary(1, "before_send"), boundary(2, "before_accept"), boundary(3, "after_accept"),
                           boundary(5, "after_response")},
                          {FaultKind::drop, FaultKind::stall});
  EXPECT_THAT(faults_of(plan),
              ElementsAre("drop downstream at before_accept k", "stall downstream at before_accept k for 61s",
                          "drop downstream at after_accept k", "stall downstream at after_accept k for 61s"));
  EXPECT_EQ(plan.windows, 2);
}

TEST(Sweep, AStatusIsAnswered) {
  EXPECT_THAT(faults_of(swept({boundary(2, "before_accept")}, {FaultKind::status})),
              ElementsAre("status downstream 503 at before_accept k", "status downstream 301 at before_accept k"));
  EXPECT_THAT(faults_of(swept({boundary(2, "after_accept")}, {FaultKind::status})),
              ElementsAre("status downstream 503 at after_accept k"));
}

TEST(Sweep, AStopWithSeveralNamesIsTakenOnceUnderTheMostTelling) {
  EXPECT_THAT(faults_of(swept({boundary(1, "after_response"), boundary(1, "before_mark")}, {FaultKind::kill})),
              ElementsAre("kill worker-1 at after_response k"));
  EXPECT_THAT(
      faults_of(swept({boundary(1, "in_claim"), boundary(1, "after_mark"), boundary(1, "send")}, {FaultKind::kill})),
      ElementsAre("kill worker-1 at after_mark k"));
  EXPECT_THAT(faults_of(swept({boundary(1, "ledger_write"), boundary(1, "in_claim")}, {FaultKind::kill})),
              ElementsAre("kill worker-1 at in_claim k"));
  EXPECT_THAT(faults_of(swept({boundary(1, "file_open"), boundary(1, "at:rendered")}, {FaultKind::kill})),
              ElementsAre(testing::HasSubstr("rendered")));
}

TEST(Sweep, ADownstreamFaultKeepsItsNameWhereAnotherIsMoreTelling) {
  EXPECT_THAT(
      faults_of(swept({boundary(1, "after_send"), boundary(1, "before_accept")}, {FaultKind::kill, FaultKind::drop})),
      ElementsAre("kill worker-1 at after_send k", "drop downstream at before_accept k"));
}

TEST(Sweep, KeysAndOccurrencesAreKept) {
  EXPECT_THAT(
      faults_of(
          swept({boundary(1, "in_mark"), boundary(2, "in_mark", "k", "worker-1", 2), boundary(3, "in_mark", "j 2")},
                {FaultKind::kill})),
      ElementsAre("kill worker-1 at in_mark k", "kill worker-1 at in_mark k #2", "kill worker-1 at in_mark \"j 2\""));
}

TEST(Sweep, ADownstreamFaultCountsOverAllActors) {
  const auto plan =
      swept({boundary(1, "after_accept"), boundary(2, "after_accept", "k", "worker-2")}, {FaultKind::drop});
  EXPECT_THAT(faults_of(plan),
              ElementsAre("drop downstream at after_accept k", "drop downstream at after_accept k #2"));
}

std::vector<Boundary> polling() {
  return {boundary(1, "ledger_lock", "", "worker-1", 1), boundary(2, "ledger_lock", "", "worker-2", 1),
          boundary(3, "ledger_lock", "", "worker-1", 2), boundary(4, "ledger_lock", "", "worker-1", 3),
          boundary(5, "ledger_lock", "k", "worker-1", 1)};
}

TEST(Sweep, IdleStopsAreSweptOncePerNameAndActorAndTheRestIsCounted) {
  const auto plan = swept(polling(), {FaultKind::kill, FaultKind::hold});
  EXPECT_EQ(plan.left_out, 2);
  EXPECT_EQ(plan.windows, 3);
  EXPECT_EQ(plan.cells.size(), 6u);
}

TEST(Sweep, IdleRepeatsIsAnOption) {
  EXPECT_EQ(sweep(polling(), SweepOptions{.faults = {FaultKind::kill}, .idle_repeats = 0}).left_out, 4);
  EXPECT_EQ(sweep(polling(), SweepOptions{.faults = {FaultKind::kill}, .idle_repeats = 2}).left_out, 1);
  EXPECT_EQ(sweep(polling(), SweepOptions{.faults = {FaultKind::kill}, .idle_repeats = 9}).left_out, 0);
}

TEST(Sweep, AnAcceptWithoutAKeyIsNotIdle) {
  const auto plan =
      swept({boundary(1, "after_accept", ""), boundary(2, "after_accept", "", "worker-1", 2)}, {FaultKind::kill});
  EXPECT_THAT(faults_of(plan), ElementsAre("kill worker-1 at after_accept", "kill worker-1 at after_accept #2"));
  EXPECT_EQ(plan.left_out, 0);
}

TEST(Sweep, ColumnsThatNoStopTakesAreSaid) {
  const auto plan = swept({boundary(1, "after_claim")}, {FaultKind::skew, FaultKind::kill, FaultKind::drop});
  EXPECT_THAT(plan.columns, ElementsAre("kill"));
  EXPECT_THAT(plan.unused,
              ElementsAre("kill process", "kill child", "kill all", "hold, skew -", "drop", "skew +", "skew -"));
  EXPECT_EQ(plan.cells.size(), 1u);
}

TEST(Sweep, AStopOfNoActorTakesNoActorFault) {
  const auto plan = swept({boundary(1, "after_accept", "k", "")}, {FaultKind::kill, FaultKind::drop});
  EXPECT_THAT(faults_of(plan), ElementsAre("drop downstream at after_accept k"));
}

TEST(Sweep, NothingComesOfNothing) {
  EXPECT_THAT(sweep(History{}, SweepOptions{}).cells, IsEmpty());
  EXPECT_EQ(swept({boundary(1, "after_response")}, {FaultKind::drop}).windows, 0);
}

// A claim, a send and a mark as a worker on SQLite makes them, then idle polling.
History clean_history() {
  History history{.scenario = "s", .seed = 1, .plan = {}, .events = {}};
  const auto add = [&history](EventBody body) {
    history.events.push_back(Event{.seq = history.events.size(),
                                   .at = Nanoseconds{0},
                                   .actor = "worker-1",
                                   .incarnation = 1,
                                   .process = 0,
                                   .body = std::move(body)});
  };
  const auto stop = [&add](const char* call, const char* object, bool locked = false) {
    add(Stopped{.call = call, .object = object, .detail = {}, .bytes = 0, .holds_ledger_lock = locked});
  };
  add(LedgerChanged{.key = "k", .from = JobState::none, .to = JobState::pending});
  stop("fcntl", "ledger.db-shm");
  stop("pwrite64", "ledger.db-wal", true);
  add(LedgerChanged{.key = "k", .from = JobState::pending, .to = JobState::leased});
  stop("connect", "downstream");
  stop("sendto", "downstream");
  add(Requested{
      .request = 1, .key = "k", .method = "POST", .path = "/", .body_digest = {}, .attempt = 1, .first_send = 5});
  add(Accepted{.request = 1, .key = "k"});
  add(Responded{.request = 1, .key = "k", .status = 200});
  stop("fcntl", "ledger.db-shm");
  stop("pwrite64", "ledger.db-wal", true);
  add(LedgerChanged{.key = "k", .from = JobState::leased, .to = JobState::delivered});
  for (int i = 0; i < 5; ++i) stop("fcntl", "ledger.db-shm");
  return history;
}

TEST(Sweep, EveryCellOfARealHistoryLeadsBackToItsStopAndNoStopIsLeftOutUncounted) {
  const History clean = clean_history();
  const std::vector<Boundary> boundaries = name_boundaries(clean);
  const auto plan = sweep(clean, {.faults = {FaultKind::kill, FaultKind::drop}, .past_lease = 61s});
  std::set<Seq> killed;
  for (const auto& cell : plan.cells) {
    const Fault& fault = cell.faults.front();
    EXPECT_EQ(resolve(fault, boundaries), cell.boundary->seq) << to_string(fault);
    if (fault.kind == FaultKind::kill) {
      EXPECT_TRUE(killed.insert(cell.boundary->seq).second) << to_string(fault);
    }
  }
  std::set<Seq> stops;
  for (const auto& b : boundaries) stops.insert(b.seq);
  EXPECT_EQ(killed.size() + plan.left_out, stops.size());
  EXPECT_GT(plan.left_out, 0);
  EXPECT_THAT(faults_of(plan),
              testing::IsSupersetOf({"kill worker-1 at after_claim k", "kill worker-1 at before_send k",
                                     "kill worker-1 at after_accept k", "drop downstream at after_accept k"}));
}

// Both workers commit a claim of K; between the last write and the sync it depends on who is connected what is left.
History uncertain_history(bool two_workers) {
  History history{.scenario = "s", .seed = 1, .plan = {}, .events = {}};
  const auto add = [&history](std::string actor, EventBody body) {
    history.events.push_back(Event{.seq = history.events.size(),
                                   .at = Nanoseconds{0},
                                   .actor = std::move(actor),
                                   .incarnation = 1,
                                   .process = 0,
                                   .body = std::move(body)});
    return history.events.size() - 1;
  };
  for (const std::string worker : {"worker-1", two_workers ? "worker-2" : "worker-1"}) {
    add(worker, Stopped{.call = "fcntl", .object = "ledger.db-shm"});
    add(worker, Stopped{.call = "pwrite64", .object = "ledger.db-wal", .holds_ledger_lock = true});
    add(worker, CommitUncertain{.key = "J", .live = JobState::pending, .cold = JobState::leased});
    add(worker, CommitUncertain{.key = "K", .live = JobState::pending, .cold = JobState::leased});
    add(worker, Stopped{.call = "fdatasync", .object = "ledger.db-wal", .holds_ledger_lock = true});
    add(worker, LedgerChanged{.key = "K", .from = JobState::pending, .to = JobState::leased});
    add(worker, Stopped{.call = "fcntl", .object = "ledger.db-shm", .holds_ledger_lock = true});
    add(worker, LedgerChanged{.key = "K", .from = JobState::leased, .to = JobState::pending});
  }
  return history;
}

std::vector<std::string> kills_of_all(const SweepPlan& plan) {
  std::vector<std::string> texts = faults_of(plan);
  std::erase_if(texts, [](const std::string& text) { return !text.starts_with("kill all"); });
  return texts;
}

TEST(Sweep, ACommitUncertainStopIsKilledAtWithTheOthersConnectedAndWithNobody) {
  const History clean = uncertain_history(true);
  const std::vector<Boundary> boundaries = name_boundaries(clean);
  const auto plan = sweep(clean, {.faults = {FaultKind::kill, FaultKind::hold}, .past_lease = 61s});
  EXPECT_THAT(kills_of_all(plan), ElementsAre("kill all at in_claim K #2", "kill all at in_claim K #4"));
  EXPECT_THAT(faults_of(plan),
              testing::IsSupersetOf({"kill worker-1 at in_claim K #2", "kill worker-2 at in_claim K #2"}));
  for (const auto& cell : plan.cells) {
    const Fault& fault = cell.faults.front();
    EXPECT_EQ(resolve(fault, boundaries), cell.boundary->seq) << to_string(fault);
    const auto* stop = std::get_if<Stopped>(&clean.events.at(cell.boundary->seq).body);
    if (fault.target != all_actors) continue;
    EXPECT_EQ(stop == nullptr ? "" : stop->call, "fdatasync");
  }
}

TEST(Sweep, KillsOfAllNeedAKillAndSomebodyElse) {
  EXPECT_THAT(kills_of_all(sweep(uncertain_history(true), {.faults = {FaultKind::hold}, .past_lease = 61s})),
              IsEmpty());
  EXPECT_THAT(kills_of_all(sweep(uncertain_history(false), {.faults = {FaultKind::kill}})), IsEmpty());
}

TEST(Sweep, AnotherActorsStopIsNotTheUncertainOne) {
  History clean = uncertain_history(true);
  clean.events.at(4).actor = "worker-2";
  EXPECT_THAT(kills_of_all(sweep(clean, {.faults = {FaultKind::kill}})), testing::SizeIs(1));
}

TEST(Sweep, AnUncertainStopWithoutAJobIsNotIdle) {
  History clean = uncertain_history(true);
  std::erase_if(clean.events, [](const Event& event) { return std::holds_alternative<LedgerChanged>(event.body); });
  for (Seq seq = 0; seq < clean.events.size(); ++seq) clean.events[seq].seq = seq;
  EXPECT_THAT(kills_of_all(sweep(clean, {.faults = {FaultKind::kill}, .idle_repeats = 0})),
              ElementsAre("kill all at ledger_sync", "kill all at ledger_sync #2"));
}

TEST(Sweep, WhatADeadWorkerLeftInTheDownstreamTakesFaultsOfTheDownstreamOnly) {
  History history{.scenario = "s", .seed = 1, .plan = {}, .events = {}};
  const auto add = [&](EventBody body) {
    history.events.push_back(
        {.seq = history.events.size(), .actor = "worker-1", .incarnation = 1, .body = std::move(body)});
  };
  add(Started{});
  add(Ended{.how = Ended::How::killed_by_plan, .code = 9});
  const std::vector<Boundary> left = {boundary(1, "before_accept")};
  EXPECT_TRUE(sweep_stops(history, left).front().gone);
  history.events.pop_back();
  EXPECT_FALSE(sweep_stops(history, left).front().gone);
}

}  // namespace
}  // namespace halfsent
