// Faults of the ledger: somebody else's lock, calls that fail, a replica that takes over.
#include <errno.h>

#include <algorithm>
#include <fstream>
#include <system_error>

#include "harness/world/engine.h"

namespace halfsent {

void Engine::apply_to_ledger(const Fault& fault) {
  disturbed_until(clock_.now() + fault.duration);
  switch (fault.kind) {
    case FaultKind::busy:
      busy_until_ = clock_.now() + fault.duration;
      return;
    case FaultKind::read_only:
      read_only_until_ = clock_.now() + fault.duration;
      return;
    case FaultKind::failover:
      return fail_over(fault.lost);
    default:
      return;
  }
}

// The stranger got the lock when it was free: whoever holds it keeps it, and asks for it no second time.
bool Engine::is_busy(const Effect& effect) const {
  return busy_until_ && clock_.now() < *busy_until_ && effect.lock &&
         effect.lock->kind == LockAttempt::Kind::exclusive &&
         probe_->is_write_lock(effect.lock->file, effect.lock->start, effect.lock->length);
}

int Engine::refusal(Thread& thread) {
  const Effect& effect = *thread.effect;
  if (effect.lock) return !thread.wait && is_busy(effect) ? EAGAIN : 0;
  Actor& actor = *thread.process->actor;
  if (actor.io_error == nullptr && !is_read_only()) return 0;
  if (effect.is_network || !probe_->owns_file(effect.stop.object)) return 0;
  const SyscallRule* rule = find_rule(thread.notification.data.nr);
  if (rule->treatment == Treatment::lock) return 0;  // flock
  if (actor.io_error != nullptr) {
    const ResolvedFault& fault = *std::exchange(actor.io_error, nullptr);
    record(*thread.process, FaultFired{.fault = fault.index, .text = to_string(fault.fault)});
    return fault.fault.io_error == IoError::enospc ? ENOSPC : EIO;
  }
  const bool only_syncs = rule->treatment == Treatment::file_sync && effect.stop.detail.empty();
  return only_syncs ? 0 : EROFS;
}

void Engine::keep_ledger() {
  int needed = -1;
  for (const ResolvedFault& resolved : setup_.faults)
    if (resolved.fault.kind == FaultKind::failover) needed = std::max(needed, resolved.fault.lost);
  if (needed < 0) return;
  Result<std::vector<char>> image = probe_->image();
  if (!image) return fail(image.error());
  if (!kept_ledgers_.empty() && kept_ledgers_.back() == *image) return;
  kept_ledgers_.push_back(std::move(*image));
  if (kept_ledgers_.size() > static_cast<std::size_t>(needed) + 1) kept_ledgers_.pop_front();
}

// With an embedded ledger those who use it live where its file lives: they go with it.
void Engine::fail_over(int lost) {
  for (auto& actor : actors_)
    for (auto& process : actor->processes)
      if (!process->dead) kill_process(*process);
  wait_for_deaths();
  observe_deaths();
  for (int i = 0; i < lost && kept_ledgers_.size() > 1; ++i) kept_ledgers_.pop_back();
  const std::filesystem::path folder = sandbox_.root() / "cwd";
  const std::vector<std::string> files = probe_->files();
  std::error_code failed;
  for (const std::string& file : files) std::filesystem::remove(folder / file, failed);
  if (!kept_ledgers_.empty() && !kept_ledgers_.back().empty()) {
    const std::vector<char>& image = kept_ledgers_.back();
    std::ofstream out(folder / files.front(), std::ios::binary);
    out.write(image.data(), static_cast<std::streamsize>(image.size()));
    if (!out.flush()) return fail({.message = "cannot write the ledger that takes over: is the disk full?"});
  }
  last_actor_ = nullptr;  // what has changed is nobody's doing
  last_incarnation_ = last_process_ = 0;
  ledger_doubt_.reset();
  if (setup_.probe) observe_ledger(LedgerProbe::Since::created_or_removed);
}

}  // namespace halfsent
