// The jobs of a new scenario: rows that the ledger has, or made up ones where it has none. Pure.
#pragma once

#include <string>
#include <vector>

#include "harness/cli/init_guess.h"
#include "harness/cli/init_schema.h"

namespace halfsent::init {

// A scenario has two jobs: enough to tell them apart, and each costs a sweep its windows.
inline constexpr int jobs_wanted = 2;

// SQL that inserts jobs_wanted jobs: only what the table demands has a value, keys are KEY-1, KEY-2.
std::string made_up_jobs(const Table& table);

// What follows "SELECT ... FROM table" for a few rows of each word of the state column, or an empty text when all rows
// should stay. `state`: null when the table has none.
std::string sample(const Table& table, const Column* state);

// The same for the jobs of the scenario: pending rows that moved in the trial, else any pending ones. Empty: none.
std::string jobs_to_keep(const Table& table, const LedgerGuess& guess, const std::vector<RowStory>& stories);

}  // namespace halfsent::init
