// What an operator does, each action in one transaction with its record.
//
// Threads: one. Errors: SQLite::Exception.
#pragma once

#include <string>

#include "database.h"

namespace reference {

// replay   sends an exhausted job again: every answer was a definite no, so nothing has happened
// redrive  sends a job in needs_review again, after somebody has looked: it may have been accepted, and the key is kept
// purge    removes a delivered job that is older than the retention; what is not delivered is never removed
// Gives the number of jobs: 0 when the job is not in that state. Errors: std::invalid_argument for another action.
int operate(Database& db, const std::string& name, const std::string& action, const std::string& key);

}  // namespace reference
