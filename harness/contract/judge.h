// The contract as pure functions of a history: each invariant is one file and one line of the table.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/core/error.h"
#include "harness/core/history.h"
#include "harness/core/plan.h"
#include "harness/core/verdict.h"

namespace halfsent {

// What the scenario promises, as far as judging needs it.
struct ContractTerms {
  std::vector<std::string> keys;    // the jobs that must be settled; empty: every key the ledger ever showed
  bool downstream_honours_key = true;
  enum class OnDoubt { unstated, retry, flag } on_doubt = OnDoubt::unstated;
};

// An invariant looks at one key's events. Returns true and fills `verdict` when it has something to say.
struct Invariant {
  std::string_view name;
  std::string_view summary;
  VerdictKind kind;
  // Precondition: the history ends with a Finished event.
  bool (*violated)(const History& history, const ContractTerms& terms, const std::string& key, KeyVerdict& verdict);
};
std::span<const Invariant> invariant_table();

// Judges a whole history. Pure; never throws on any history that parses.
Verdict judge(const History& history, const Plan& plan, const ContractTerms& terms);

// One exit code out of a verdict, by the precedence 3, 1, 5, 7, 4, 6.
ExitCode exit_code(const Verdict& verdict);

}  // namespace halfsent
