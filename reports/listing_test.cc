#include "reports/listing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/contract/judge.h"
#include "harness/explore/strategy.h"

namespace halfsent {
namespace {

using testing::HasSubstr;

TEST(Listing, EachTableIsListedInFull) {
  for (const auto& fault : fault_table()) EXPECT_THAT(fault_list({}), HasSubstr(std::string(fault.syntax) + "\n"));
  for (const auto& row : invariant_table()) EXPECT_THAT(invariant_list({}), HasSubstr(std::string(row.summary) + "\n"));
  for (const auto& row : run_invariant_table())
    EXPECT_THAT(invariant_list({}), HasSubstr(std::string(row.summary) + "\n"));
  for (const auto& row : boundary_table()) EXPECT_THAT(boundary_list({}), HasSubstr(std::string(row.summary) + "\n"));
  for (const auto& row : strategy_table()) EXPECT_THAT(strategy_list({}), HasSubstr(std::string(row.summary) + "\n"));
}

TEST(Listing, NamesStandInOneColumnAndSummariesInTheNext) {
  EXPECT_THAT(invariant_list({}), HasSubstr("  duplicate  one job accepted more than once\n"
                                            "  ghost      accepted for a job that was rolled back: the ledger has no "
                                            "row for it\n"
                                            "  phantom    reported delivered, never accepted\n"));
}

TEST(Listing, TheExampleOfEachFaultIsAPlan) {
  for (const auto& fault : fault_table()) {
    EXPECT_THAT(fault_list({}), HasSubstr("e.g. " + std::string(fault.example) + "\n"));
    const auto plan = parse_plan("scenario s; " + std::string(fault.example));
    ASSERT_TRUE(plan.has_value()) << plan.error().to_string();
    EXPECT_EQ(plan->faults.front().kind, fault.kind);
  }
}

TEST(Listing, ScenariosAreListedWithWhatIsExpectedAndNothingOfTheirsIsRaw) {
  EXPECT_EQ(scenario_list("s/", {{"one", "held", "A \x1b[2J system."}, {"second", "violated", "Wrong."}}, {}),
            "scenarios in s/\n  one     held      A \\x1b[2J system.\n  second  violated  Wrong.\n");
  EXPECT_EQ(scenario_list("s/", {}, {}), "scenarios in s/\n  none\n");
}

}  // namespace
}  // namespace halfsent
