#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "harness/explore/strategy.h"
#include "harness/explore/sweep_stop.h"

namespace halfsent {
namespace {

using namespace std::chrono_literals;
using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;

// A history written event by event.
class Written {
 public:
  Written& by(std::string actor, int process = 0, int incarnation = 1) {
    event_.actor = std::move(actor);
    event_.process = process;
    event_.incarnation = incarnation;
    return *this;
  }
  Written& add(EventBody body) {
    event_.seq = history_.events.size();
    event_.body = std::move(body);
    history_.events.push_back(event_);
    return *this;
  }
  Written& stops(const char* call, const char* object, bool locked = false) {
    return add(Stopped{.call = call, .object = object, .detail = {}, .bytes = 0, .holds_ledger_lock = locked});
  }
  // From the claim of k to its mark.
  Written& works() {
    stops("fcntl", "ledger.db-shm").stops("pwrite64", "ledger.db-wal", true);
    add(LedgerChanged{.key = "k", .from = JobState::pending, .to = JobState::leased});
    stops("connect", "downstream").stops("sendto", "downstream");
    const Seq send = history_.events.size() - 1;
    add(Requested{.request = 1, .key = "k", .method = "POST", .path = "/", .body_digest = {}, .first_send = send});
    add(Accepted{.request = 1, .key = "k"}).add(Responded{.request = 1, .key = "k", .status = 200});
    stops("fcntl", "ledger.db-shm").stops("pwrite64", "ledger.db-wal", true);
    add(LedgerChanged{.key = "k", .from = JobState::leased, .to = JobState::delivered});
    return stops("fcntl", "ledger.db-shm");
  }
  History history() { return history_; }

 private:
  Event event_{.incarnation = 1, .body = Started{}};
  History history_{.scenario = "s", .seed = 1, .plan = {}, .events = {}};
};

Written two_workers() {
  Written written;
  written.by("worker-1").add(Started{}).by("worker-2").add(Started{});
  return written.by("").add(LedgerChanged{.key = "k", .from = JobState::none, .to = JobState::pending}).by("worker-1");
}

std::vector<std::string> column(const SweepPlan& plan, std::string_view label) {
  std::vector<std::string> texts;
  for (const SweepCell& cell : plan.cells) {
    if (cell.column != label) continue;
    Plan as_text{.scenario = "s", .seed = 1, .faults = cell.faults};
    texts.push_back(to_string(as_text).substr(std::string_view("scenario s; seed 1; ").size()));
  }
  return texts;
}

SweepPlan swept(const History& history) { return sweep(history, {.past_lease = 61s, .within_lease = 30s}); }

TEST(SweepColumns, EveryFaultThereIsHasAColumnAndNoHeadIsThereTwice) {
  std::set<std::string_view> heads;
  for (const SweepColumn& column : sweep_columns()) EXPECT_TRUE(heads.insert(column.label).second) << column.label;
  for (const FaultInfo& fault : fault_table()) {
    const auto of_kind = [&fault](const SweepColumn& column) { return column.kind == fault.kind; };
    EXPECT_TRUE(std::any_of(sweep_columns().begin(), sweep_columns().end(), of_kind)) << fault.name;
  }
}

TEST(SweepColumns, EveryCellIsAPlanThatCanBePasted) {
  const History history = two_workers().works().history();
  for (const SweepCell& cell : swept(history).cells) {
    const Plan plan{.scenario = "s", .seed = 1, .faults = cell.faults};
    const auto parsed = parse_plan(to_string(plan));
    ASSERT_TRUE(parsed.has_value()) << to_string(plan) << ": " << parsed.error().to_string();
    EXPECT_EQ(*parsed, plan);
  }
}

TEST(SweepColumns, WhoIsKilledAtANamedWindowComesBackLateOrNeverOrAloneOfAll) {
  const SweepPlan plan = swept(two_workers().works().history());
  EXPECT_THAT(column(plan, "kill, late back"),
              ElementsAre("kill worker-1 at before_claim k; restart worker-1 after 61s",
                          "kill worker-1 at after_claim k; restart worker-1 after 61s",
                          "kill worker-1 at before_send k; restart worker-1 after 61s",
                          "kill worker-1 at after_send k; restart worker-1 after 61s",
                          "kill worker-1 at after_accept k; restart worker-1 after 61s",
                          "kill worker-1 at after_response k; restart worker-1 after 61s",
                          "kill worker-1 at after_mark k; restart worker-1 after 61s"));
  EXPECT_THAT(column(plan, "kill, never back"), Contains("kill worker-1 at after_accept k; restart worker-1 never"));
  EXPECT_EQ(column(plan, "kill, never back").size(), 7u);
  EXPECT_THAT(column(plan, "kill all, one back"), Contains("kill all at after_accept k; restart all while_peer_lives"));
  EXPECT_THAT(column(plan, "kill all, one back"), testing::SizeIs(7));
}

TEST(SweepColumns, NobodyStaysAwayForEverWhoLeavesNoPeer) {
  Written alone;
  alone.by("scheduler-1").add(Started{}).by("worker-1").add(Started{});
  alone.by("").add(LedgerChanged{.key = "k", .from = JobState::none, .to = JobState::pending});
  alone.by("worker-1").works();
  const SweepPlan of_one = swept(alone.history());
  EXPECT_THAT(column(of_one, "kill, late back"), testing::SizeIs(7));
  EXPECT_THAT(of_one.unused, testing::IsSupersetOf({"kill, never back", "kill all, one back"}));

  Written left = two_workers().works();  // the peer had nothing to do and went home
  left.by("worker-2").add(Ended{.how = Ended::How::exited, .code = 0});
  EXPECT_THAT(swept(left.history()).unused, testing::IsSupersetOf({"kill, never back", "kill all, one back"}));

  left.by("worker-2", 0, 2).add(Started{});  // and was started again
  EXPECT_THAT(swept(left.history()).unused, Not(Contains("kill, never back")));
}

TEST(SweepColumns, ClocksStepBothWaysWhileAJobIsAtWorkAndAreOffBothWaysFromTheStart) {
  const SweepPlan plan = swept(two_workers().works().history());
  EXPECT_THAT(column(plan, "step +"),
              ElementsAre("step worker-1 61s at after_claim k", "step worker-1 61s at before_send k",
                          "step worker-1 61s at after_send k", "step worker-1 61s at after_accept k",
                          "step worker-1 61s at after_response k"));
  EXPECT_THAT(column(plan, "step -"), Contains("step worker-1 -61s at after_claim k"));
  EXPECT_THAT(column(plan, "skew +"), ElementsAre("skew worker-1 61s", "skew worker-2 61s"));
  EXPECT_THAT(column(plan, "skew -"), ElementsAre("skew worker-1 -61s", "skew worker-2 -61s"));
  for (const SweepCell& cell : plan.cells) EXPECT_EQ(!cell.boundary, cell.column.starts_with("skew")) << cell.column;
  EXPECT_THAT(column(plan, "hold, skew -"), testing::SizeIs(5));
  EXPECT_THAT(column(plan, "hold, skew -"), Contains("skew worker-1 -30s; hold worker-1 at after_claim k for 45s"));
}

TEST(SweepColumns, AConnectionIsRefusedWhereItIsOpened) {
  const SweepPlan plan = swept(two_workers().works().history());
  EXPECT_THAT(column(plan, "refuse"), ElementsAre("refuse worker-1 at after_claim k for 61s"));
  Written other = two_workers().stops("connect", "socket");
  EXPECT_THAT(swept(other.history()).unused, Contains("refuse"));
}

TEST(SweepColumns, OneProcessOfSeveralIsKilledAloneWhileOthersAreKnownToLive) {
  Written shell = two_workers();
  shell.stops("openat", "a");                    // alone
  shell.by("worker-1", 1).stops("openat", "b");  // its child
  shell.by("worker-1", 0).stops("openat", "c");  // with a child
  shell.by("worker-1", 1).add(Ended{.how = Ended::How::exited, .code = 0});
  shell.add(Responded{.request = 1, .key = "k"});  // what it asked for outlives it
  shell.by("worker-1", 0).stops("openat", "d");    // alone again
  shell.by("worker-2", 0).stops("openat", "e");    // another actor's
  const SweepPlan plan = sweep(shell.history(), {.past_lease = 61s, .within_lease = 30s, .idle_repeats = 9});
  EXPECT_THAT(column(plan, "kill process"),
              ElementsAre("kill worker-1 process at file_open #2", "kill worker-1 process at file_open #3"));
  EXPECT_THAT(column(plan, "kill child"), ElementsAre("kill worker-1 child at file_open #3"));
}

TEST(SweepColumns, StopsOfTheLedgerAreKnownByTheirFileWhateverTheirName) {
  const History history = two_workers().works().history();
  const std::vector<Boundary> boundaries = name_boundaries(history);
  std::vector<std::string> calls;
  for (const SweepStop& stop : sweep_stops(history, boundaries))
    if (takes(stop, SweepWhere::ledger_change))
      calls.push_back(std::get<Stopped>(history.events.at(stop.telling->seq).body).call);
  EXPECT_THAT(calls, ElementsAre("pwrite64", "pwrite64"));
}

TEST(SweepColumns, FaultsOfTheLedgerStrikeAtWhoeversStopAndEndBeforeTheLeaseDoes) {
  const SweepPlan plan =
      sweep(two_workers().works().history(), {.past_lease = 61s, .within_lease = 30s, .failover_loses = 1});
  EXPECT_THAT(column(plan, "busy"), Contains("busy ledger at after_response k for 30s"));
  EXPECT_THAT(column(plan, "read only"), Contains("read_only ledger at before_claim k for 30s"));
  EXPECT_THAT(column(plan, "failover"), Contains("failover ledger 1 at after_mark k"));
  EXPECT_THAT(column(plan, "EIO"),
              ElementsAre("io_error worker-1 EIO at in_claim k", "io_error worker-1 EIO at in_mark k"));
  EXPECT_THAT(column(plan, "ENOSPC"), testing::SizeIs(2));
}

TEST(SweepColumns, WhoIsAloneIsNotPreempted) {
  Written alone;
  alone.by("worker-1").add(Started{});
  alone.by("").add(LedgerChanged{.key = "k", .from = JobState::none, .to = JobState::pending});
  alone.by("worker-1").works();
  EXPECT_THAT(swept(alone.history()).unused, Contains("switch"));
  EXPECT_THAT(column(swept(two_workers().works().history()), "switch"), Contains("switch worker-1 at in_mark k"));
}

TEST(SweepColumns, OnlyWhatWasAskedForIsSwept) {
  const SweepPlan plan =
      sweep(two_workers().works().history(), {.faults = {FaultKind::skew}, .past_lease = 61s, .within_lease = 30s});
  EXPECT_THAT(plan.columns, ElementsAre("hold, skew -", "skew +", "skew -"));
  EXPECT_THAT(plan.unused, IsEmpty());
  EXPECT_EQ(plan.windows, 5);
  EXPECT_EQ(plan.cells.size(), 9u);
}

}  // namespace
}  // namespace halfsent
