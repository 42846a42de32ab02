// Recovery: what becomes of jobs whose lease has run out. Workers look before each claim; a reaper does nothing else,
// so that a job does not wait for a worker to be free.
//
// Threads: one. Errors: SQLite::Exception.
#pragma once

#include <string>
#include <utility>

#include "database.h"
#include "job.h"

namespace reference {

class Recovery {
 public:
  Recovery(Database& db, std::string owner, const Terms& terms) : db_(db), owner_(std::move(owner)), terms_(terms) {}

  // Frees or flags every job whose lease has run out, a page at a time. Returns how many there were.
  int sweep();

 private:
  int sweep_page();
  bool anything_expired();

  Database& db_;
  std::string owner_;
  const Terms& terms_;
};

}  // namespace reference
