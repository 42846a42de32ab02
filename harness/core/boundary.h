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
  Seq seq = 0;           // a Stopped, Requested or Accepted event
  std::string name;      // "after_claim", "before_mark", "in_mark#3" -> name "in_mark", occurrence counted apart
  std::string key;       // empty where the stop belongs to no job
  std::string actor;
  int occurrence = 1;    // n-th time of (name, key, actor)
  bool lock_held = false;  // the actor holds a ledger lock there: a hold is a lock-hold
  friend bool operator==(const Boundary&, const Boundary&) = default;
};

struct BoundaryInfo {
  std::string_view name;
  std::string_view summary;
};
// The canonical names with what they mean, for `list` and for "nearest known name".
std::span<const BoundaryInfo> boundary_table();

// All names of all stops, ordered by seq, then by the order of the table.
std::vector<Boundary> name_boundaries(const History& history);

// The event a fault strikes at, given the history without it; nullopt: never reached there. For actor faults the
// boundary's actor must be the fault's target; a downstream fault takes any actor's.
std::optional<Seq> resolve(const Fault& fault, std::span<const Boundary> boundaries);

// "after_accept 4187:2026-W33" or "in_mark 4187:2026-W33 #3".
std::string to_string(const Boundary& boundary);

}  // namespace halfsent
