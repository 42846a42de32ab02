// The worker: recovers, claims, renders, sends, settles, one job at a time.
#pragma once

#include <string>

#include "job.h"
#include "lease.h"
#include "recovery.h"
#include "send.h"

namespace reference {

class Worker {
 public:
  Worker(std::string name, Database& db, Url url, const Terms& terms);

  // Works for ever. Errors: those of the ledger that do not pass by themselves.
  [[noreturn]] void run();

 private:
  // Does one job. False: there is nothing to do now.
  bool work_once();
  bool work_on(Job& job);
  // Time passes over the job, and its lease is kept meanwhile. False: it was lost.
  bool take_time(Job& job, Seconds seconds);
  void recover();
  void renew_for_ever();
  Answer send_and_tell(const Job& job);
  void not_sent(const Job& job);
  bool work_on_batch(const Job& first);
  void settle_surely(const Job& job, const Answer& answer);

  std::string name_;
  Database& db_;
  Seconds swept_at_ = 0;  // of defects, like the next
  std::string renewed_;
  const Terms& terms_;
  Leases leases_;
  Recovery recovery_;
  Url url_;
};

}  // namespace reference
