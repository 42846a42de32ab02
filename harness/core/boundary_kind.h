// The names of boundaries in the order of their table, and the names of effects that have no better one. For core and
// explore.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "harness/core/history.h"

namespace halfsent {

// In the order of boundary_table().
enum class BoundaryName {
  before_schedule,
  in_schedule,
  after_schedule,
  before_claim,
  in_claim,
  after_claim,
  before_send,
  after_send,
  before_accept,
  after_accept,
  after_response,
  before_mark,
  in_mark,
  after_mark,
  announced,
  ledger_lock,
  ledger_write,
  ledger_sync,
  ledger_open,
  ledger_unlink,
  connect,
  send,
  socket_send,
  pipe_write,
  file_open,
  file_write,
  file_sync,
  file_lock,
  rename,
  unlink,
  link,
  mkdir,
  effect,
};

std::string_view name_of(BoundaryName name);

// Names the effect of a stop by its kind. There is no configuration here: what the ledger's files are is seen in the
// history, from the side files of a database ("X-wal", "X-shm", "X-journal") or else from the files that are locked.
class EffectNamer {
 public:
  explicit EffectNamer(const History& history);
  [[nodiscard]] BoundaryName operator()(const Stopped& stop) const;

 private:
  [[nodiscard]] bool is_ledger(std::string_view object) const;

  std::set<std::string, std::less<>> ledgers_;
};

}  // namespace halfsent
