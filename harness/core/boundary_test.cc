#include "harness/core/boundary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/core/test_story.h"

namespace halfsent {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;

TEST(Boundary, OneJobFromClaimToMarkHasEveryCanonicalName) {
  Story story;
  story.add(Started{});
  const Seq lock = story.lock();
  const Seq first_write = story.write();
  const Seq second_write = story.write();
  story.claim("K");
  const Seq unlock = story.unlock();
  const Seq connect = story.stop("connect", "downstream");
  const Seq head = story.send();
  const Seq body = story.send();
  const Seq requested = story.request(1, "K", head);
  const Seq accepted = story.accept(1, "K");
  story.respond(1, "K");
  const Seq mark_lock = story.lock();
  const Seq mark_write = story.write();
  story.mark("K");
  const Seq mark_unlock = story.unlock();
  const Seq rest = story.stop("write", "out.txt");

  EXPECT_THAT(story.names_at(lock), ElementsAre("before_claim K"));
  EXPECT_THAT(story.names_at(first_write), ElementsAre("in_claim K"));
  EXPECT_THAT(story.names_at(second_write), ElementsAre("in_claim K #2"));
  EXPECT_THAT(story.names_at(unlock), ElementsAre("after_claim K"));
  EXPECT_THAT(story.names_at(connect), ElementsAre("connect K"));
  EXPECT_THAT(story.names_at(head), ElementsAre("before_send K"));
  EXPECT_THAT(story.names_at(body), ElementsAre("after_send K"));
  EXPECT_THAT(story.names_at(requested), ElementsAre("before_accept K"));
  EXPECT_THAT(story.names_at(accepted), ElementsAre("after_accept K"));
  EXPECT_THAT(story.names_at(mark_lock), ElementsAre("after_response K", "before_mark K"));
  EXPECT_THAT(story.names_at(mark_write), ElementsAre("in_mark K"));
  EXPECT_THAT(story.names_at(mark_unlock), ElementsAre("after_mark K"));
  EXPECT_THAT(story.names_at(rest), ElementsAre("file_write"));
}

TEST(Boundary, AJobThatAnActorWritesIsScheduledThere) {
  Story story;
  const Seq lock = story.lock();
  const Seq write = story.write();
  story.change("K", JobState::none, JobState::pending);
  const Seq unlock = story.unlock();
  EXPECT_THAT(story.names_at(lock), ElementsAre("before_schedule K"));
  EXPECT_THAT(story.names_at(write), ElementsAre("in_schedule K"));
  EXPECT_THAT(story.names_at(unlock), ElementsAre("after_schedule K"));
}

TEST(Boundary, KnowsWhereALedgerLockIsHeld) {
  Story story;
  story.lock();
  story.write();
  story.claim("K");
  story.unlock();
  const Seq head = story.send();
  story.request(1, "K", head);
  std::vector<std::pair<std::string, bool>> locks;
  for (const Boundary& boundary : name_boundaries(story.history)) locks.emplace_back(boundary.name, boundary.lock_held);
  EXPECT_THAT(locks, ElementsAre(std::pair("before_claim", false), std::pair("in_claim", true),
                                 std::pair("after_claim", true), std::pair("before_send", false),
                                 std::pair("after_send", false), std::pair("before_accept", false)));
}

TEST(Boundary, ARequestSentInsideATransactionIsALockHold) {
  Story story;
  story.lock();
  const Seq head = story.stop("sendto", "downstream", true);
  story.request(1, "K", head);
  story.accept(1, "K");
  for (const Boundary& boundary : name_boundaries(story.history)) {
    EXPECT_EQ(boundary.lock_held, boundary.seq >= head) << boundary.name;
  }
}

TEST(Boundary, WithoutAVisibleLockTheLastStopIsBeforeTheChange) {
  Story story;
  story.lock();
  story.write();
  story.unlock();
  const Seq last = story.stop("sendto", "socket");  // to a database server
  story.claim("K");
  EXPECT_THAT(story.events_of("before_claim K"), ElementsAre(last));
  EXPECT_THAT(story.events_of("in_claim K"), IsEmpty());
}

TEST(Boundary, ATransactionThatTookItsLockBeforeAnyStopHasNoBeforeName) {
  Story story;
  const Seq write = story.write();
  story.claim("K");
  EXPECT_THAT(story.names_at(write), ElementsAre("in_claim K"));
}

TEST(Boundary, OneTransactionMayClaimSeveralJobs) {
  Story story;
  const Seq lock = story.lock();
  const Seq write = story.write();
  story.claim("K");
  story.claim("L");
  const Seq unlock = story.unlock();
  EXPECT_THAT(story.names_at(lock), ElementsAre("before_claim K", "before_claim L"));
  EXPECT_THAT(story.names_at(write), ElementsAre("in_claim K", "in_claim L"));
  EXPECT_THAT(story.names_at(unlock), ElementsAre("after_claim K", "after_claim L"));
}

TEST(Boundary, AnAfterNameNeverLeaksToTheNextIncarnation) {
  Story story;
  const Seq head = story.send();
  story.request(1, "K", head);
  story.accept(1, "K");
  story.respond(1, "K");
  story.claim("K");
  story.mark("K");
  story.add(Ended{.how = Ended::How::killed_by_plan, .code = 9});
  story.by("worker-1", 2).add(Started{});
  const Seq next = story.lock();
  story.write();
  EXPECT_THAT(story.names_at(next), ElementsAre("ledger_lock"));
}

TEST(Boundary, AnotherActorsStopIsNotTheFirstAfterAClaim) {
  Story story;
  story.claim("K");
  const Seq other = story.by("worker-2").stop("write", "out.txt");
  const Seq own = story.by("worker-1").stop("write", "out.txt");
  EXPECT_THAT(story.names_at(other), ElementsAre("file_write"));
  EXPECT_THAT(story.names_at(own), ElementsAre("after_claim K"));
}

TEST(Boundary, AnyProcessOfTheTreeMayBeTheFirstAfter) {
  Story story;
  story.claim("K");
  const Seq child = story.add(Stopped{.call = "write", .object = "out.txt"}, 2);
  EXPECT_THAT(story.names_at(child), ElementsAre("after_claim K"));
}

TEST(Boundary, BeforeAChangeOnlyStopsOfThatIncarnationCount) {
  Story story;
  story.lock();
  story.add(Ended{});
  story.by("worker-1", 2).add(Started{});
  story.claim("K");
  EXPECT_THAT(story.events_of("before_claim K"), IsEmpty());
}

TEST(Boundary, ARenewedLeaseIsNoClaim) {
  Story story;
  story.claim("K", 1);
  story.unlock();
  story.change("K", JobState::leased, JobState::leased, 1);
  const Seq after_renewal = story.unlock();
  EXPECT_THAT(story.names_at(after_renewal), ElementsAre("ledger_lock K"));
}

TEST(Boundary, ATakeOverWithMoreAttemptsIsAClaim) {
  Story story;
  story.claim("K", 1);
  story.change("K", JobState::leased, JobState::leased, 2);
  const Seq after = story.by("worker-1").unlock();
  EXPECT_THAT(story.names_at(after), ElementsAre("after_claim K"));
  story.by("worker-2").change("K", JobState::leased, JobState::leased, 3);
  EXPECT_THAT(story.names_at(story.unlock()), ElementsAre("after_claim K"));
}

TEST(Boundary, WithoutAttemptsATakeOverIsSeenFromWhoMadeIt) {
  Story story;
  story.claim("K", -1);
  story.unlock();
  story.change("K", JobState::leased, JobState::leased, -1);
  EXPECT_THAT(story.names_at(story.unlock()), Not(Contains("after_claim K #2")));
  story.by("worker-2").change("K", JobState::leased, JobState::leased, -1);
  EXPECT_THAT(story.names_at(story.unlock()), ElementsAre("after_claim K"));
}

TEST(Boundary, OnlyPendingAndLeasedJobsAreMarked) {
  Story story;
  story.change("K", JobState::delivered, JobState::flagged);
  EXPECT_THAT(story.names_at(story.unlock()), Not(Contains("after_mark K")));
  story.change("K", JobState::pending, JobState::flagged);
  EXPECT_THAT(story.names_at(story.unlock()), ElementsAre("after_mark K"));
  story.change("L", JobState::leased, JobState::unlisted);
  EXPECT_THAT(story.names_at(story.unlock()), Not(Contains("after_mark L")));
}

TEST(Boundary, AChangeByNobodyNamesNothing) {
  Story story;
  story.by("", 0).claim("K");
  const Seq nobodys = story.unlock();
  const Seq stop = story.by("worker-1").unlock();
  EXPECT_THAT(story.names_at(nobodys), ElementsAre("ledger_lock"));
  EXPECT_THAT(story.names_at(stop), ElementsAre("ledger_lock"));
}

TEST(Boundary, ASecondRequestForAKeyIsCounted) {
  Story story;
  const Seq first = story.send();
  story.request(1, "K", first);
  story.respond(1, "K");
  const Seq second = story.send();
  const Seq requested = story.request(2, "K", second);
  EXPECT_THAT(story.names_at(second), ElementsAre("before_send K #2", "after_response K"));
  EXPECT_THAT(story.names_at(requested), ElementsAre("after_send K #2", "before_accept K #2"));
}

TEST(Boundary, AStopBeforeTheFirstByteIsNotAfterIt) {
  Story story;
  story.stop("connect", "downstream");
  const Seq head = story.send();
  const Seq requested = story.request(1, "K", head);
  const Seq later = story.stop("write", "out.txt");
  EXPECT_THAT(story.names_at(requested), ElementsAre("after_send K", "before_accept K"));
  EXPECT_THAT(story.names_at(later), ElementsAre("file_write"));
}

TEST(Boundary, ARequestWithoutAKeyIsNamedByItsJobOrElseByTheLastClaim) {
  Story story;
  story.claim("K");
  story.unlock();
  story.claim("L");
  story.unlock();
  const Seq first = story.send();
  story.request(1, "", first, "K");
  const Seq accepted = story.accept(1, "");
  EXPECT_THAT(story.names_at(first), ElementsAre("before_send K"));
  EXPECT_THAT(story.names_at(accepted), ElementsAre("after_accept K"));
  const Seq second = story.send();
  story.request(2, "", second);
  EXPECT_THAT(story.names_at(second), ElementsAre("before_send L"));
}

TEST(Boundary, ARequestOfUnknownOriginStillPassesTheDownstreamsBoundaries) {
  Story story;
  const Seq requested = story.by("", 0).request(1, "K", no_seq);
  const Seq accepted = story.accept(1, "K");
  EXPECT_THAT(story.names_at(requested), ElementsAre("after_send K", "before_accept K"));
  EXPECT_THAT(story.names_at(accepted), ElementsAre("after_accept K"));
}

TEST(Boundary, AnAcceptOfADeadWorkersRequestIsStillItsOwn) {
  Story story;
  const Seq head = story.send();
  story.request(1, "K", head);
  story.add(Ended{.how = Ended::How::killed_by_plan, .code = 9});
  const Seq accepted = story.by("", 0).accept(1, "K");
  const auto boundaries = name_boundaries(story.history);
  const Fault kill{.kind = FaultKind::kill, .target = "worker-1", .at = Anchor{"after_accept", "K"}};
  EXPECT_EQ(resolve(kill, boundaries), accepted);
}

}  // namespace
}  // namespace halfsent
