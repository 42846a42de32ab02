// A job in a worker's hands: from the claim to its settlement. Each write after the claim asks for the claim's token,
// so that whoever has lost the job changes nothing.
//
// Threads: one. Errors: SQLite::Exception.
#pragma once

#include <optional>
#include <string>

#include "database.h"
#include "job.h"

namespace reference {

class Leases {
 public:
  Leases(Database& db, std::string owner, const Terms& terms) : db_(db), owner_(std::move(owner)), terms_(terms) {}

  // Leases the oldest due job and counts the attempt, in one statement; nullopt when nothing is due.
  std::optional<Job> claim();

  // The heartbeat of long work: makes the lease whole again when less than half of it is left. False: it was lost.
  bool keep(Job& job);

  // Commits that a send may happen. False: the job is no longer ours, or its lease may end during the send.
  bool record_intent(const Job& job);

  // Writes the outcome of the send. False: refused, because the job is no longer ours.
  bool settle(const Job& job, const Answer& answer);

  // "delivered, token 3", for a log.
  std::string describe(const Job& job);

  // By the ledger's clock.
  Seconds now();

 private:
  std::optional<Job> take();
  std::optional<Job> claim_two();
  bool anything_due();
  bool trusts(const Job& job);

  Database& db_;
  std::string owner_;
  const Terms& terms_;
  std::optional<Job> fetched_;  // of a defect, like the next
  std::string trusted_key_;
};

}  // namespace reference
