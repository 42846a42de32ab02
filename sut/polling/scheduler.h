// The scheduler: one durable job for each active customer of a cohort and each cutoff, and an outbox row for each job,
// in one transaction.
//
// Several may run on one ledger. Each cohort has one authority at a time, which the ledger keeps: it is taken when the
// one before has let it run out, and with each change of hands the term grows. A scheduler that has lost it writes
// nothing, since the same transaction asks for it; and if two ever wrote, the key would still be the same.
//
// Threads: one. Errors: SQLite::Exception.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "database.h"
#include "job.h"

namespace reference {

class Scheduler {
 public:
  Scheduler(Database& db, std::string name, const Terms& terms) : db_(db), name_(std::move(name)), terms_(terms) {}

  // Works for ever. Errors: those of the ledger that do not pass by themselves.
  [[noreturn]] void run();

 private:
  std::vector<std::string> cohorts();
  // Takes or renews the authority over the cohort; nullopt: it is somebody else's. Gives the term.
  std::optional<std::int64_t> authority(const std::string& cohort);
  // Schedules the cohort's next cutoff that has come. False: there is none, or the authority is lost.
  bool schedule_next(const std::string& cohort, std::int64_t term);
  int write_jobs(const std::string& cohort, std::int64_t term, const std::string& week, Seconds cutoff);
  void advance(const std::string& cohort, Seconds cutoff);
  void pass();
  // Of defects.
  std::vector<std::string> customers(const std::string& cohort);
  void rebuild_jobs();
  bool schedule_by_looking(const std::string& cohort, std::int64_t term);
  static bool schedules_wrongly();
  bool schedule_wrongly(Immediate& transaction, const std::string& cohort, std::int64_t term, const std::string& week,
                        Seconds cutoff);

  Database& db_;
  std::string name_;
  const Terms& terms_;
};

}  // namespace reference
