// The worker's side of the ledger. Every write after a claim asks for the claim's token.
//
// Threads: one. Errors: SQLite::Exception; passes() tells those that pass by themselves.
#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

#include <optional>
#include <string>

#include "job.h"

namespace polling {

class Ledger {
 public:
  // Opens an existing ledger.
  Ledger(const std::string& file, OnDoubt on_doubt);

  // The oldest due job, leased; nullopt when nothing is due. Rows that must not be sent again are settled on the way.
  std::optional<Job> claim();

  // Commits that a send may happen. False: the job is no longer ours, or its lease may end during the send.
  bool record_intent(const Job& job);

  // Writes the outcome of the send. False: refused, because the job is no longer ours.
  bool settle(const Job& job, const Answer& answer);

  // "delivered, token 3", for a log.
  std::string describe(const Job& job);

 private:
  struct Taken {
    bool found = false;
    std::optional<Job> job;
  };
  Taken take_oldest();
  void give_up(const std::string& digest_key, const char* state, const char* reason);

  SQLite::Database db_;
  std::optional<SQLite::Statement> due_;  // closes before db_
  OnDoubt on_doubt_;
};

// True for trouble that passes by itself: a lock, a full disk, an error of a device.
bool passes(const SQLite::Exception& error);

// Seconds since the epoch.
Seconds now_s();

}  // namespace polling
