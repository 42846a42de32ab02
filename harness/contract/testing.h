// For tests of this folder: terms, and one invariant on one job of a history.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "harness/contract/history_builder.h"
#include "harness/contract/invariants.h"

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

}  // namespace halfsent
