// The strategy `sweep`, and what the others are made from: every window of a history x every fault that applies to it.
// Pure: a history in, plans out.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/core/boundary.h"
#include "harness/core/history.h"
#include "harness/core/plan.h"

namespace halfsent {

// What a column of the sweep strikes at. Stops of no actor take no fault of actors.
enum class SweepWhere {
  every_stop,          // every stop of an actor
  several_living,      // those at which the actor is known to have several living processes
  root_with_child,     // those of the actor's first process while another one of it is known to live
  uncertain,           // those at which it depends on who is connected what a crash leaves of a commit
  every_stop_beside,   // every stop of an actor that has others beside it
  named,               // those whose name says what they come before or after, or that are announced
  named_with_peer,     // the same, of an actor that has a peer which stays to the end: whoever stays away is replaced
  at_work,             // after_claim to before_mark
  at_work_beside,      // the same, of an actor that has a peer which stays to the end
  connecting,          // a connection to the downstream is about to be opened
  ledger_change,       // a ledger file is about to be written, synced, made or removed
  ledger_write,        // a ledger file is about to be written
  downstream_decides,  // the downstream has a request that it has not accepted
  downstream,          // the downstream has a request, before and after it has accepted it
  start,               // no stop: from the start, once for each actor
};

struct SweepOptions {
  std::vector<FaultKind> faults = every_fault_kind();
  // Longer than the lease: how long hold, stall, late and refuse last, how far clocks are off, and after how long those
  // come back that do not come back at once.
  Nanoseconds past_lease{0};
  // Shorter than the lease, and long enough for others to look at the ledger: the holder is slow, and no stale one. As
  // long last busy and read_only.
  Nanoseconds within_lease{0};
  int failover_loses = 0;  // committed transactions that a replica may lack
  // Stops that belong to no job come again and again while a worker polls an idle ledger: of each (name, actor) only
  // the first so many are swept.
  int idle_repeats = 1;
};

// What the faults of one cell are made from.
struct SweepTarget {
  std::string name;          // an actor, all_actors, "downstream" or "ledger"
  std::optional<Anchor> at;  // none: from the start
  Nanoseconds past_lease{0};
  Nanoseconds within_lease{0};
  int failover_loses = 0;
};

// One column of the crash-window matrix. A fault kind becomes part of the sweep by a row here; it may have several.
struct SweepColumn {
  FaultKind kind;          // the fault that is asked for to have this column
  std::string_view label;  // the column's head
  SweepWhere where;
  bool of_all;  // strikes all actors when any of them is there
  std::vector<Fault> (*faults)(const SweepTarget& target);
};
std::span<const SweepColumn> sweep_columns();

// One cell of the crash-window matrix: one execution.
struct SweepCell {
  std::optional<Boundary> boundary;  // none: from the start
  std::string column;                // its label
  std::vector<Fault> faults;
  friend bool operator==(const SweepCell&, const SweepCell&) = default;
};

struct SweepPlan {
  std::vector<SweepCell> cells;      // in the order of the clean history, then those from the start
  std::vector<std::string> columns;  // labels of those that have a cell, in the order of the table
  std::vector<std::string> unused;   // labels of those that were asked for and that no stop takes
  int windows = 0;                   // stops that have at least one cell
  int left_out = 0;                  // idle stops that idle_repeats left out
};

// Every window x every column that applies to it. Each stop is taken once per column, under its most telling name: what
// the stop comes before or after, then what it is inside of (in_claim), then an announced name, then the kind of
// effect (ledger_write).
//
// A stop at which a commit is uncertain (CommitUncertain comes directly before it) is killed at twice, if the history
// has several actors: with the others connected, and, by `kill all`, with nobody connected: what follows may differ.
// Such a stop is never idle. Boundaries alone do not tell which they are, nor who connects, has children or peers: the
// second form knows none of these and nothing that is there from the start.
SweepPlan sweep(const History& clean, const SweepOptions& options);
SweepPlan sweep(std::span<const Boundary> boundaries, const SweepOptions& options);

}  // namespace halfsent
