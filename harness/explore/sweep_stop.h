// What a clean history says about each stop, as far as a sweep must know to choose its faults. Private to explore.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "harness/explore/strategy.h"

namespace halfsent {

struct SweepStop {
  std::span<const Boundary> names;       // all of one stop; not empty
  const Boundary* telling = nullptr;     // the most telling of them
  const Boundary* downstream = nullptr;  // the one at which the downstream can strike; null: none
  bool uncertain = false;                // a commit is, and somebody else could be connected
  bool connects = false;
  bool ledger_change = false;
  bool ledger_write = false;
  bool several_living = false;
  bool root_with_child = false;
  bool gone = false;        // the incarnation that it belongs to has ended: what it left in the downstream goes on
  bool beside = false;      // there are other actors
  bool peer_stays = false;  // another actor of the same kind is there at the end
};

// The stops of `boundaries`, in order. What the history does not have is false. The stops point into `boundaries`.
std::vector<SweepStop> sweep_stops(const History& clean, std::span<const Boundary> boundaries);

// Whether a column with this `where` has a cell at the stop. Never for `start`, which is no stop.
bool takes(const SweepStop& stop, SweepWhere where);

// A stop without a job. A name that says before or after what it is never is idle, even where no key is known.
bool is_idle(const SweepStop& stop);

// In the order in which they were started first.
std::vector<std::string> actors_of(const History& history);

}  // namespace halfsent
