#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "harness/explore/strategy.h"

namespace halfsent {
namespace {

bool is_before_or_after(const Boundary& boundary) {
  return boundary.name.starts_with("before_") || boundary.name.starts_with("after_");
}

bool at_the_downstream(const Boundary& boundary) {
  return boundary.name == "before_accept" || boundary.name == "after_accept";
}

// Less is more telling.
int rank(const Boundary& boundary) {
  if (is_before_or_after(boundary)) return 0;
  if (boundary.name.starts_with("in_")) return 1;
  if (boundary.name.starts_with("at:")) return 2;
  return 3;
}

// A stop without a job. A name that says before or after what it is never is idle, even where no key is known.
bool is_idle(const Boundary& boundary) { return boundary.key.empty() && !is_before_or_after(boundary); }

bool has_windows(FaultKind kind) {
  switch (kind) {
    case FaultKind::kill:
    case FaultKind::hold:
    case FaultKind::term:
    case FaultKind::drop:
    case FaultKind::reset:
    case FaultKind::stall:
    case FaultKind::status:
    case FaultKind::half:
    case FaultKind::late:
      return true;
    case FaultKind::refuse:
    case FaultKind::skew:
    case FaultKind::step:
    case FaultKind::restart:
      return false;
  }
  return false;
}

class Sweeper {
 public:
  Sweeper(std::span<const Boundary> boundaries, const SweepOptions& options)
      : boundaries_(boundaries), options_(options) {}

  SweepPlan run() {
    for (const FaultKind kind : options_.faults) {
      if (!has_windows(kind)) plan_.without_windows.push_back(kind);
    }
    for (auto first = boundaries_.begin(); first != boundaries_.end();) {
      const auto last =
          std::find_if(first, boundaries_.end(), [first](const Boundary& b) { return b.seq != first->seq; });
      take_stop(std::span(first, last));
      first = last;
    }
    return std::move(plan_);
  }

 private:
  void take_stop(std::span<const Boundary> names) {
    // min_element keeps the first of equals: the order of the table decides.
    const Boundary& telling =
        *std::min_element(names.begin(), names.end(), [](const auto& a, const auto& b) { return rank(a) < rank(b); });
    if (is_idle(telling) && ++idle_[{telling.name, telling.actor}] > options_.idle_repeats) {
      ++plan_.left_out;
      return;
    }
    const auto downstream = std::find_if(names.begin(), names.end(), at_the_downstream);
    const std::size_t before = plan_.cells.size();
    for (const FaultKind kind : options_.faults) {
      if (!has_windows(kind)) continue;
      if (info(kind).target == FaultInfo::Target::actor) {
        if (!telling.actor.empty()) add(kind, telling, telling.actor);
      } else if (downstream != names.end()) {
        add(kind, *downstream, "downstream");
      }
    }
    if (plan_.cells.size() > before) ++plan_.windows;
  }

  void add(FaultKind kind, const Boundary& boundary, const std::string& target) {
    Fault fault{.kind = kind, .target = target};
    fault.at = anchor_for(kind, boundary, boundaries_);
    if (info(kind).needs_duration) fault.duration = options_.hold_for;
    if (kind != FaultKind::status) {
      plan_.cells.push_back({boundary, fault});
      return;
    }
    for (const int status : options_.statuses) {
      fault.status = status;
      plan_.cells.push_back({boundary, fault});
    }
  }

  std::span<const Boundary> boundaries_;
  const SweepOptions& options_;
  SweepPlan plan_;
  std::map<std::pair<std::string, std::string>, int> idle_;  // stops seen by name and actor
};

}  // namespace

SweepPlan sweep(std::span<const Boundary> boundaries, const SweepOptions& options) {
  return Sweeper(boundaries, options).run();
}

SweepPlan sweep(const History& clean, const SweepOptions& options) {
  const std::vector<Boundary> boundaries = name_boundaries(clean);
  return sweep(boundaries, options);
}

}  // namespace halfsent
