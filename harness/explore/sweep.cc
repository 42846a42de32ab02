#include <algorithm>
#include <map>
#include <optional>
#include <set>
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

bool has_several_actors(const History& history) {
  std::set<std::string> actors;
  for (const Event& event : history.events)
    if (!event.actor.empty()) actors.insert(event.actor);
  return actors.size() > 1;
}

// The stops at which it depends on who is connected what a crash leaves of a commit.
std::set<Seq> commit_uncertain_stops(const History& history) {
  std::set<Seq> stops;
  const Event* uncertain = nullptr;
  for (const Event& event : history.events) {
    if (std::holds_alternative<CommitUncertain>(event.body)) {
      uncertain = &event;
    } else if (std::holds_alternative<Stopped>(event.body)) {
      if (uncertain != nullptr && uncertain->actor == event.actor) stops.insert(event.seq);
      uncertain = nullptr;
    } else if (!std::holds_alternative<Waiting>(event.body)) {  // another thread's wait changes nothing
      uncertain = nullptr;
    }
  }
  return stops;
}

class Sweeper {
 public:
  // `for_all`: the stops where all actors are killed too.
  Sweeper(std::span<const Boundary> boundaries, const SweepOptions& options, std::set<Seq> for_all)
      : boundaries_(boundaries), options_(options), for_all_(std::move(for_all)) {}

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
    const bool for_all = for_all_.contains(telling.seq);
    if (is_idle(telling) && !for_all && ++idle_[{telling.name, telling.actor}] > options_.idle_repeats) {
      ++plan_.left_out;
      return;
    }
    const auto downstream = std::find_if(names.begin(), names.end(), at_the_downstream);
    const std::size_t before = plan_.cells.size();
    for (const FaultKind kind : options_.faults) {
      if (!has_windows(kind)) continue;
      if (!strikes_downstream(kind)) {
        if (!telling.actor.empty()) add(kind, telling, telling.actor);
        if (kind == FaultKind::kill && for_all) add(kind, telling, std::string(all_actors));
      } else if (downstream != names.end()) {
        add(kind, *downstream, "downstream");
      }
    }
    if (plan_.cells.size() > before) ++plan_.windows;
  }

  void add(FaultKind kind, const Boundary& boundary, const std::string& target) {
    Fault fault{.kind = kind, .target = target};
    fault.at = target == all_actors ? anchor_for_all(boundary, boundaries_) : anchor_for(kind, boundary, boundaries_);
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
  std::set<Seq> for_all_;
  SweepPlan plan_;
  std::map<std::pair<std::string, std::string>, int> idle_;  // stops seen by name and actor
};

}  // namespace

SweepPlan sweep(std::span<const Boundary> boundaries, const SweepOptions& options) {
  return Sweeper(boundaries, options, {}).run();
}

SweepPlan sweep(const History& clean, const SweepOptions& options) {
  const std::vector<Boundary> boundaries = name_boundaries(clean);
  return Sweeper(boundaries, options, has_several_actors(clean) ? commit_uncertain_stops(clean) : std::set<Seq>{})
      .run();
}

}  // namespace halfsent
