// What each change of a job's row was: a claim, a renewal, or something else, and whose doing.
//
// Pure. Points into the history it was made from, which must outlive it.
#pragma once

#include <compare>
#include <optional>
#include <string>
#include <vector>

#include "harness/contract/job_facts.h"

namespace halfsent {

// One life of an actor. Nobody (an empty actor) is the world: rows that were there before anybody ran, and a ledger
// that a failover put back.
struct Life {
  std::string actor;
  int incarnation = 0;
  friend auto operator<=>(const Life&, const Life&) = default;
};
inline Life life_of(const Event& event) { return {event.actor, event.incarnation}; }

struct RowChange {
  const Event* event = nullptr;
  const LedgerChanged* now = nullptr;
  const LedgerChanged* before = nullptr;  // null: there was no row

  // Whose doing. Not always the event's actor: a commit in which somebody died shows when the next one opens the ledger
  // and recovers it, and stays the doing of the dead.
  Life by = {};
  bool recovered = false;

  // The row became leased, or went to another holder or another token. Going on with one's own lease is none. An
  // incarnation that takes a leased row without saying so (no token, no owner, no other attempts) claims it when the
  // old lease has run out, and else meddles with it.
  bool is_claim = false;

  std::optional<Life> holder_before = {};  // who held the claim until then
  std::optional<Life> holder = {};         // who holds it now: nobody unless the row is leased
};

// In order. A job without a row has none. A commit in which somebody died, that shows for a moment and is gone again
// with the log it was in (the last one to close the ledger removes it), is left out: nobody could read it.
std::vector<RowChange> row_changes(const JobFacts& job);

// How often the job was claimed, rows that were leased before anybody ran left out.
std::size_t count_claims(const std::vector<RowChange>& changes);

// The life had an effect for the job, and when it took that step was not in doubt about it (or had not sent yet: a
// claim by removal).
bool was_its_sender(const JobFacts& job, const Life& life, Seq step);

// What a ledger that counts in whole seconds can be off by: lease ends and claims within it are taken for the same
// moment.
inline constexpr Nanoseconds ledger_resolution = std::chrono::seconds{1};

}  // namespace halfsent
