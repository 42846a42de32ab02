#include "reports/operations_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/contract/history_builder.h"

namespace halfsent {
namespace {

using namespace std::chrono_literals;

TEST(OperationsJson, HasTheSeriesAndTheMaxima) {
  HistoryBuilder h;
  h.schedules("k\n");
  h.at(1s).by("worker-1").claims("k\n").at(2s).is_killed();
  h.at(65s).by("worker-2").claims("k\n", JobState::leased, 2).at(66s).delivers(3, "k\n").marks("k\n");
  const std::string text = operations_json(watch(h.finishes("drained"), {}));
  EXPECT_THAT(text, testing::StartsWith(R"({"version":1,"end":66000000000,"effects":1,)"));
  EXPECT_THAT(
      text, testing::HasSubstr(R"("longest_delay":{"key":"k\n","holder":"","from":0,"to":66000000000,"open":false})"));
  EXPECT_THAT(text, testing::HasSubstr(R"({"key":"k\n","state":"delivered","attempts":2,"eligible":0})"));
  EXPECT_THAT(text, testing::HasSubstr(R"({"at":0,"pending":1,"leased":0,"expired":0,"delivered":0,"flagged":0,)"));
  EXPECT_THAT(text, testing::HasSubstr(R"({"at":66000000000,"pending":0,"leased":0,"expired":0,"delivered":1,)"));
}

TEST(OperationsJson, OfNothingIsWholeToo) {
  EXPECT_THAT(operations_json(watch(HistoryBuilder().finishes("drained"), {})),
              testing::EndsWith("\"jobs\":[],\n\"series\":[]}\n"));
}

}  // namespace
}  // namespace halfsent
