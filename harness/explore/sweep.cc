#include <algorithm>
#include <map>
#include <utility>

#include "harness/explore/strategy.h"
#include "harness/explore/sweep_stop.h"

namespace halfsent {
namespace {

class Sweeper {
 public:
  Sweeper(std::span<const Boundary> boundaries, const SweepOptions& options)
      : boundaries_(boundaries), options_(options) {
    for (const SweepColumn& column : sweep_columns())
      if (std::find(options.faults.begin(), options.faults.end(), column.kind) != options.faults.end())
        columns_.push_back(&column);
  }

  SweepPlan run(const History& clean) {
    for (const SweepStop& stop : sweep_stops(clean, boundaries_)) take_stop(stop);
    for (const std::string& actor : actors_of(clean))
      for (const SweepColumn* column : columns_)
        if (column->where == SweepWhere::start) add(*column, std::nullopt, {.name = actor, .at = std::nullopt});
    for (const SweepColumn* column : columns_) {
      const bool used = std::any_of(plan_.cells.begin(), plan_.cells.end(),
                                    [column](const SweepCell& cell) { return cell.column == column->label; });
      (used ? plan_.columns : plan_.unused).emplace_back(column->label);
    }
    return std::move(plan_);
  }

 private:
  void take_stop(const SweepStop& stop) {
    const Boundary& telling = *stop.telling;
    if (is_idle(stop) && ++idle_[{telling.name, telling.actor}] > options_.idle_repeats) {
      ++plan_.left_out;
      return;
    }
    const std::size_t before = plan_.cells.size();
    for (const SweepColumn* column : columns_) {
      if (!takes(stop, column->where)) continue;
      if (stop.gone && info(column->kind).target == FaultInfo::Target::actor) continue;
      if (column->where == SweepWhere::downstream || column->where == SweepWhere::downstream_decides) {
        add(*column, *stop.downstream,
            {.name = "downstream", .at = anchor_for(column->kind, *stop.downstream, boundaries_)});
      } else if (strikes_ledger(column->kind)) {
        add(*column, telling, {.name = "ledger", .at = anchor_for(column->kind, telling, boundaries_)});
      } else if (column->of_all) {
        add(*column, telling, {.name = std::string(all_actors), .at = anchor_for_all(telling, boundaries_)});
      } else {
        add(*column, telling, {.name = telling.actor, .at = anchor_for(column->kind, telling, boundaries_)});
      }
    }
    if (plan_.cells.size() > before) ++plan_.windows;
  }

  void add(const SweepColumn& column, const std::optional<Boundary>& boundary, SweepTarget target) {
    target.past_lease = options_.past_lease;
    target.within_lease = options_.within_lease;
    target.failover_loses = options_.failover_loses;
    plan_.cells.push_back({.boundary = boundary, .column = std::string(column.label), .faults = column.faults(target)});
  }

  std::span<const Boundary> boundaries_;
  const SweepOptions& options_;
  std::vector<const SweepColumn*> columns_;  // that were asked for
  SweepPlan plan_;
  std::map<std::pair<std::string, std::string>, int> idle_;  // stops seen by name and actor
};

}  // namespace

SweepPlan sweep(std::span<const Boundary> boundaries, const SweepOptions& options) {
  return Sweeper(boundaries, options).run(History{});
}

SweepPlan sweep(const History& clean, const SweepOptions& options) {
  const std::vector<Boundary> boundaries = name_boundaries(clean);
  return Sweeper(boundaries, options).run(clean);
}

}  // namespace halfsent
