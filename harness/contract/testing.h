// For tests of this folder: terms, and one invariant on one job of a history.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>

#include "harness/contract/history_builder.h"
#include "harness/contract/invariants.h"
#include "harness/contract/run_invariants.h"

namespace halfsent {

using namespace std::chrono_literals;  // NOLINT: tests read better

using OnDoubt = ContractTerms::OnDoubt;

inline ContractTerms honouring(std::vector<std::string> keys = {}) {
  return {.keys = std::move(keys), .downstream_honours_key = true, .on_doubt = OnDoubt::unstated};
}
inline ContractTerms ignoring(OnDoubt on_doubt) {
  return {.keys = {}, .downstream_honours_key = false, .on_doubt = on_doubt};
}

struct Said {
  bool violated = false;
  KeyVerdict verdict;
};

inline Said ask(bool (*invariant)(const JobFacts&, const ContractTerms&, KeyVerdict&), const History& history,
                const ContractTerms& terms = honouring(), const std::string& key = "k") {
  const Facts facts = gather_facts(history, terms);
  Said said;
  said.violated = invariant(facts.jobs.at(key), terms, said.verdict);
  return said;
}

inline const Plan& no_plan() {
  static const Plan plan{.scenario = "s", .seed = 1, .faults = {}};
  return plan;
}

// One invariant of the run on a whole history. `why_incomplete`: why what is absent must not be judged.
inline RunFindings ask_run(RunFindings (*invariant)(const RunFacts&, const ContractTerms&), const History& history,
                           const ContractTerms& terms = honouring(), const Plan& plan = no_plan(),
                           std::string why_incomplete = "") {
  const Facts facts = gather_facts(history, terms);
  return invariant(gather_run_facts(history, plan, facts, std::move(why_incomplete)), terms);
}

// "key: why" of each violation, by lines; "not judged: why" where that is said; "" when it holds.
inline std::string told(const RunFindings& found) {
  std::string text = found.not_judged.empty() ? "" : "not judged: " + found.not_judged;
  for (const RunViolation& broken : found.broken) {
    text += (text.empty() ? "" : "\n") + (broken.key.empty() ? "" : broken.key + ": ") + broken.why;
    EXPECT_FALSE(broken.evidence.empty());
    EXPECT_TRUE(std::is_sorted(broken.evidence.begin(), broken.evidence.end()));
  }
  return text;
}

}  // namespace halfsent
