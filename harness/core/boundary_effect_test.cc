#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "harness/core/boundary.h"
#include "harness/core/test_story.h"

namespace halfsent {
namespace {

using testing::ElementsAre;

TEST(Boundary, AnAnnouncedPointHasItsOwnNameAndKey) {
  Story story;
  const Seq rendered = story.add(Stopped{.call = "at", .object = "rendered", .detail = "K"});
  const Seq odd = story.add(Stopped{.call = "at", .object = "half way", .detail = "a b"});
  const Seq idle = story.add(Stopped{.call = "at", .object = "tick"});
  story.stop("write", "out.txt");
  story.claim("L");
  const Seq working = story.add(Stopped{.call = "at", .object = "rendered"});
  EXPECT_THAT(story.names_at(rendered), ElementsAre("at:rendered K"));
  EXPECT_THAT(story.names_at(odd), ElementsAre(R"("at:half way" "a b")"));
  EXPECT_THAT(story.names_at(idle), ElementsAre("at:tick"));
  EXPECT_THAT(story.names_at(working), ElementsAre("after_claim L", "at:rendered L"));
}

TEST(Boundary, OtherEffectsAreNamedByTheirKind) {
  Story story;
  const std::vector<std::tuple<std::string, std::string, std::string>> effects = {
      {"pwrite64", "ledger.db-journal", "ledger_write"},
      {"pwritev", "ledger.db", "ledger_write"},
      {"ftruncate", "ledger.db-wal", "ledger_write"},
      {"fdatasync", "ledger.db", "ledger_sync"},
      {"fcntl", "ledger.db", "ledger_lock"},
      {"openat", "ledger.db-journal", "ledger_open"},
      {"unlinkat", "ledger.db-journal", "ledger_unlink"},
      {"connect", "downstream", "connect"},
      {"write", "downstream", "send"},
      {"sendmsg", "downstream", "send"},
      {"sendto", "socket", "socket_send"},
      {"writev", "pipe", "pipe_write"},
      {"pwrite64", "out.txt", "file_write"},
      {"fsync", "out.txt", "file_sync"},
      {"flock", "out.txt", "file_lock"},
      {"open", "out.txt", "file_open"},
      {"renameat2", "out.txt", "rename"},
      {"unlink", "out.txt", "unlink"},
      {"symlink", "out.txt", "link"},
      {"mkdir", "out", "mkdir"},
      {"semop", "", "effect"},
  };
  for (const auto& [call, object, name] : effects) story.stop(call, object);
  const auto boundaries = name_boundaries(story.history);
  ASSERT_EQ(boundaries.size(), effects.size());
  for (std::size_t i = 0; i < effects.size(); ++i) EXPECT_EQ(boundaries[i].name, std::get<2>(effects[i]));
}

TEST(Boundary, WithoutSideFilesTheLockedFileIsTheLedger) {
  Story story;
  const Seq lock = story.stop("flock", "jobs.json");
  const Seq write = story.stop("write", "jobs.json", true);
  const Seq log = story.stop("write", "log.txt", true);
  story.stop("flock", "jobs.json", true);
  EXPECT_THAT(story.names_at(lock), ElementsAre("ledger_lock"));
  EXPECT_THAT(story.names_at(write), ElementsAre("ledger_write"));
  EXPECT_THAT(story.names_at(log), ElementsAre("file_write"));
}

TEST(Boundary, AnEffectBelongsToTheOpenJobFromClaimToMark) {
  Story story;
  const Seq idle = story.stop("write", "out.txt");
  story.lock();
  story.claim("K");
  story.unlock();
  const Seq working = story.stop("write", "out.txt");
  const Seq still_working = story.stop("write", "out.txt");
  story.lock();
  story.mark("K");
  story.unlock();
  const Seq idle_again = story.stop("write", "out.txt");
  EXPECT_THAT(story.names_at(idle), ElementsAre("file_write"));
  EXPECT_THAT(story.names_at(working), ElementsAre("file_write K"));
  EXPECT_THAT(story.names_at(still_working), ElementsAre("file_write K #2"));
  // The fourth file_write of the actor: what an anchor without a key counts.
  EXPECT_THAT(story.names_at(idle_again), ElementsAre("file_write #4"));
}

TEST(Boundary, AReleasedJobIsNoLongerOpenAndAStaleHolderStillHasIts) {
  Story story;
  story.claim("K");
  story.unlock();
  story.change("K", JobState::leased, JobState::pending);
  const Seq released = story.stop("write", "out.txt");
  EXPECT_THAT(story.names_at(released), ElementsAre("file_write"));
  story.claim("K", 2);
  story.unlock();
  story.by("worker-2").mark("K");
  const Seq stale = story.by("worker-1").stop("write", "out.txt");
  EXPECT_THAT(story.names_at(stale), ElementsAre("file_write K"));
}

TEST(Boundary, InABatchAnEffectBelongsToTheJobOfTheLastRequest) {
  Story story;
  story.claim("K");
  story.claim("L");
  story.unlock();
  EXPECT_THAT(story.names_at(story.stop("write", "out.txt")), ElementsAre("file_write L"));
  story.request(1, "K", no_seq);
  EXPECT_THAT(story.names_at(story.stop("write", "out.txt")), ElementsAre("file_write K"));
}

TEST(BoundaryTable, HasEveryNameOnceWithASummary) {
  std::set<std::string_view> names;
  for (const BoundaryInfo& info : boundary_table()) {
    EXPECT_TRUE(names.insert(info.name).second) << info.name;
    EXPECT_FALSE(info.summary.empty());
  }
  EXPECT_EQ(boundary_table().front().name, "before_schedule");
  EXPECT_EQ(names.count("after_accept") + names.count("ledger_write") + names.count("at:NAME"), 3U);
}

TEST(Resolve, CountsTheTimesForTheTargetsOwnKey) {
  Story story;
  const Seq first = story.by("worker-1").accept(1, "K");
  const Seq other_key = story.accept(2, "L");
  const Seq other_actor = story.by("worker-2").accept(3, "K");
  const Seq second = story.by("worker-1").accept(4, "K");
  const auto boundaries = name_boundaries(story.history);
  const auto find = [&](FaultKind kind, std::string target, std::string key, int occurrence) {
    return resolve(
        {.kind = kind, .target = std::move(target), .at = Anchor{"after_accept", std::move(key), occurrence}},
        boundaries);
  };
  EXPECT_EQ(find(FaultKind::kill, "worker-1", "K", 1), first);
  EXPECT_EQ(find(FaultKind::kill, "worker-1", "K", 2), second);
  EXPECT_EQ(find(FaultKind::kill, "worker-1", "K", 3), std::nullopt);
  EXPECT_EQ(find(FaultKind::kill, "worker-1", "", 2), other_key);
  EXPECT_EQ(find(FaultKind::kill, "worker-2", "K", 1), other_actor);
  EXPECT_EQ(find(FaultKind::kill, "worker-3", "K", 1), std::nullopt);
  EXPECT_EQ(find(FaultKind::kill, "worker-1", "M", 1), std::nullopt);
  EXPECT_EQ(find(FaultKind::drop, "downstream", "K", 2), other_actor);
  EXPECT_EQ(find(FaultKind::drop, "downstream", "", 4), second);
  EXPECT_EQ(resolve({.kind = FaultKind::refuse, .target = "worker-1"}, boundaries), std::nullopt);
}

TEST(Resolve, AllIsAnyActorAndCountsOverAllOfThem) {
  Story story;
  story.by("").accept(1, "K");  // of nobody known
  const Seq first = story.by("worker-1").accept(2, "K");
  const Seq other_key = story.accept(3, "L");
  const Seq second = story.by("worker-2").accept(4, "K");
  const auto boundaries = name_boundaries(story.history);
  const auto find = [&](std::string key, int occurrence) {
    return resolve({.kind = FaultKind::kill,
                    .target = std::string(all_actors),
                    .at = Anchor{"after_accept", std::move(key), occurrence}},
                   boundaries);
  };
  EXPECT_EQ(find("K", 1), first);
  EXPECT_EQ(find("K", 2), second);
  EXPECT_EQ(find("K", 3), std::nullopt);
  EXPECT_EQ(find("", 2), other_key);
  EXPECT_EQ(find("", 3), second);
}

// Histories of any shape, sensible or not: naming must hold for all.
History any_history() {
  using rc::gen::element;
  using rc::gen::inRange;
  Story story;
  const auto state = [] { return static_cast<JobState>(*inRange(0, 6)); };
  const auto key = [] { return *element<std::string>("", "K", "L"); };
  const int size = *inRange(0, 60);
  for (int i = 0; i < size; ++i) {
    story.by(*element<std::string>("w1", "w1", "w2", ""), *inRange(1, 3));
    const auto number = static_cast<std::uint64_t>(*inRange(1, 4));
    switch (*inRange(0, 8)) {
      case 0:
        story.change(key(), state(), state(), *inRange(-1, 4));
        break;
      case 1:
        story.request(number, key(), static_cast<Seq>(*inRange(0, 60)), key());
        break;
      case 2:
        story.accept(number, key());
        break;
      case 3:
        story.respond(number, key());
        break;
      case 4:
        story.add(Stopped{.call = "at", .object = *element<std::string>("p", "q r"), .detail = key()});
        break;
      default:
        story.stop(*element<std::string>("sendto", "pwrite64", "fcntl", "odd"),
                   *element<std::string>("downstream", "ledger.db-wal", "out.txt"), *rc::gen::arbitrary<bool>());
    }
  }
  return story.history;
}

RC_GTEST_PROP(Boundary, EveryStopHasANameAndOnlyStopsRequestsAndAcceptsHave, ()) {
  const History history = any_history();
  std::set<Seq> named;
  for (const Boundary& boundary : name_boundaries(history)) named.insert(boundary.seq);
  for (const Event& event : history.events) {
    const bool may_be_named = std::holds_alternative<Stopped>(event.body) ||
                              std::holds_alternative<Requested>(event.body) ||
                              std::holds_alternative<Accepted>(event.body);
    RC_ASSERT(named.contains(event.seq) == may_be_named);
  }
}

RC_GTEST_PROP(Boundary, AnAnchorMadeFromABoundaryLeadsBackToIt, ()) {
  const auto boundaries = name_boundaries(any_history());
  RC_ASSERT(std::ranges::is_sorted(boundaries, {}, &Boundary::seq));
  for (const Boundary& boundary : boundaries) {
    const Fault kill{.kind = FaultKind::kill,
                     .target = boundary.actor,
                     .at = Anchor{boundary.name, boundary.key, boundary.occurrence}};
    RC_ASSERT(resolve(kill, boundaries) == boundary.seq);
    RC_ASSERT(anchor_for(FaultKind::kill, boundary, boundaries) == *kill.at);
    if (!boundary.actor.empty()) RC_ASSERT(parse_plan("scenario s;" + to_string(kill))->faults.front() == kill);
    const Fault kill_all{
        .kind = FaultKind::kill, .target = std::string(all_actors), .at = anchor_for_all(boundary, boundaries)};
    if (!boundary.actor.empty()) RC_ASSERT(resolve(kill_all, boundaries) == boundary.seq);
    if (boundary.name != "before_accept" && boundary.name != "after_accept") continue;
    const Fault drop{
        .kind = FaultKind::drop, .target = "downstream", .at = anchor_for(FaultKind::drop, boundary, boundaries)};
    RC_ASSERT(resolve(drop, boundaries) == boundary.seq);
  }
}

// What is named from what came before cannot depend on what comes later: a child execution shares its parent's past.
RC_GTEST_PROP(Boundary, AfterNamesOfAPastDoNotDependOnItsFuture, ()) {
  History history = any_history();
  const std::set<std::string_view> from_the_past = {"after_claim",   "after_accept", "after_response", "after_mark",
                                                    "before_accept", "at:p",         "at:q r"};
  const auto past = [&](Seq end) {
    std::vector<Boundary> out = name_boundaries(history);
    std::erase_if(
        out, [&](const Boundary& boundary) { return boundary.seq >= end || !from_the_past.contains(boundary.name); });
    return out;
  };
  const auto cut = *rc::gen::inRange<std::size_t>(0, history.events.size() + 1);
  const auto with_future = past(cut);
  history.events.resize(cut);
  RC_ASSERT(past(cut) == with_future);
}

}  // namespace
}  // namespace halfsent
