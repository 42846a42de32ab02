// Strategies propose plans. Pure: a clean history in, plans out.
#pragma once

#include <string>
#include <vector>

#include "harness/core/boundary.h"
#include "harness/core/history.h"
#include "harness/core/plan.h"

namespace halfsent {

struct SweepOptions {
  std::vector<FaultKind> faults = {FaultKind::kill, FaultKind::hold, FaultKind::drop};
  Nanoseconds hold_for{0};  // past the lease
};

// One cell of the crash-window matrix.
struct SweepCell {
  Boundary boundary;
  Fault fault;
};

// Every window x every fault that applies to it, in the order of the clean history. Each named stop is taken once per
// fault, under its most telling name; unnamed effects (ledger_write#n, send#n ...) are windows like all others.
std::vector<SweepCell> sweep(const History& clean, const SweepOptions& options);

}  // namespace halfsent
