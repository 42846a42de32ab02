// Boundaries: the names of stops. A pure function of a history, so that a plan survives unrelated changes.
//
// A fault names a boundary; the harness resolves the name in the history of the plan without that fault
// (its parent) to an event, and strikes when the child execution reaches the event with that number. Both
// histories are equal up to there, which the harness checks: anything else is a divergence.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/core/history.h"
#include "harness/core/plan.h"

namespace halfsent {

// One name of one event. An event may have several names ("after_response" and "before_mark").
struct Boundary {
  Seq seq = 0;       // a Stopped, Requested or Accepted event
  std::string name;  // one of boundary_table(), or "at:NAME"; "in_mark#3" is "in_mark" with occurrence 3
  std::string key;   // empty where the stop belongs to no job
  std::string actor;
  // From 1: the n-th of (name, key, actor). Without a key: the n-th of (name, actor) with any key or none, since that
  // is what an anchor without a key counts. So Anchor{name, key, occurrence} always leads an actor's fault back here.
  int occurrence = 1;
  bool lock_held = false;  // the actor holds a ledger lock there: a hold is a lock-hold
  friend bool operator==(const Boundary&, const Boundary&) = default;
};

struct BoundaryInfo {
  std::string_view name;
  std::string_view summary;
};
// The canonical names with what they mean, for `list` and for "nearest known name".
std::span<const BoundaryInfo> boundary_table();

// All names of all stops, ordered by seq, then by the order of the table, then by key. A stop without a canonical name
// has that of its effect ("ledger_write"), so that every stop has a name. REQUIRES: history.events is in order of seq.
std::vector<Boundary> name_boundaries(const History& history);

// The event a fault strikes at, given the history without it; nullopt: never reached there. For actor faults the
// boundary's actor must be the fault's target, or any actor for the target all_actors; a fault of the ledger takes any
// actor's, a downstream fault any actor's and nobody's.
// An empty key of the anchor matches any key; the occurrence counts over the boundaries that match, in order.
std::optional<Seq> resolve(const Fault& fault, std::span<const Boundary> boundaries);

// The anchor by which a fault of `kind` strikes exactly at `boundary`, which is one of `boundaries`: resolve() of it
// gives boundary.seq back. For faults of the downstream and of the ledger the occurrence counts over all actors and so
// may differ from the boundary's own.
Anchor anchor_for(FaultKind kind, const Boundary& boundary, std::span<const Boundary> boundaries);

// The same for a fault of actors whose target is all_actors. REQUIRES: the boundary is an actor's.
Anchor anchor_for_all(const Boundary& boundary, std::span<const Boundary> boundaries);

// As a plan writes it: "after_accept 4187:2026-W33" or "in_mark 4187:2026-W33 #3".
std::string to_string(const Boundary& boundary);

}  // namespace halfsent
