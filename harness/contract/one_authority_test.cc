#include "harness/contract/testing.h"

namespace halfsent {
namespace {

// Scheduled in this order: cohort and authority of each, by scheduler-N.
History scheduled(const std::vector<std::pair<std::string, std::string>>& jobs) {
  HistoryBuilder h;
  int n = 0;
  for (const auto& [cohort, authority] : jobs) {
    ++n;
    h.at(n * 1s).by("scheduler-" + authority);
    h.add(LedgerChanged{
        .key = "k" + std::to_string(n), .to = JobState::pending, .cohort = cohort, .authority = authority});
  }
  return h.finishes("horizon");
}

TEST(OneAuthority, AFailoverMovesItAndOtherCohortsHaveTheirOwn) {
  EXPECT_EQ(told(ask_run(judge_one_authority, scheduled({{"eu", "1"}, {"us", "2"}, {"eu", "2"}, {"us", "3"}}))), "");
  EXPECT_EQ(told(ask_run(judge_one_authority, scheduled({{"eu", "a"}, {"eu", "a"}, {"eu", "b"}, {"us", "a"}}))), "");
}

TEST(OneAuthority, WhoGoesOnAfterItWasTakenOverIsTold) {
  EXPECT_EQ(
      told(ask_run(judge_one_authority, scheduled({{"eu", "9"}, {"eu", "10"}, {"eu", "9"}}))),
      "k3: scheduled by scheduler-9 at 3.000 s under the authority 9 for the cohort eu, although the authority 10 "
      "had taken over: k2 was scheduled by scheduler-10 at 2.000 s");
  EXPECT_EQ(ask_run(judge_one_authority, scheduled({{"eu", "a"}, {"eu", "b"}, {"eu", "a"}})).broken.size(), 1u);
}

TEST(OneAuthority, WithoutItsColumnsItIsNotJudged) {
  EXPECT_EQ(told(ask_run(judge_one_authority, scheduled({{"eu", ""}}))), "not judged: rows show no authority");
  EXPECT_EQ(told(ask_run(judge_one_authority, scheduled({{"", "1"}}))), "not judged: rows show no cohort");
}

}  // namespace
}  // namespace halfsent
