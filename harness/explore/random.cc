// The strategy `random`: walks. Each next fault is drawn from those that apply in the history of the plan so far, so
// that all of them strike; preemptions among them are the change points of probabilistic concurrency testing
// (Burckhardt et al., ASPLOS 2010), with the engine's fixed order in place of random priorities.
//
// rapidcheck draws. What it draws for a step depends on the seed, the unit and the step alone: units can be run in any
// order, by anybody.
#include <rapidcheck.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "harness/explore/strategy.h"

namespace halfsent {
namespace {

// Stops of an idle worker are many and much alike; a few of each are worth a try.
constexpr int idle_repeats = 3;

template <class T>
T draw(rc::Random& random, const rc::Gen<T>& from) {
  return from(random.split()).value();
}

// The kind first, then the window: there are a hundred windows for a kill and four for a dropped response.
SweepCell draw_cell(rc::Random& random, const std::vector<SweepCell>& cells) {
  std::vector<std::string> columns;
  for (const SweepCell& cell : cells)
    if (std::find(columns.begin(), columns.end(), cell.column) == columns.end()) columns.push_back(cell.column);
  const std::string column = draw(random, rc::gen::elementOf(columns));
  std::vector<std::size_t> of_column;
  for (std::size_t i = 0; i < cells.size(); ++i)
    if (cells[i].column == column) of_column.push_back(i);
  return cells[draw(random, rc::gen::elementOf(of_column))];
}

// Holds, delays and clocks that are off: as the sweep has them, mostly, or shorter or longer.
void stretch(rc::Random& random, std::vector<Fault>& faults, std::size_t from) {
  const int percent =
      draw(random, rc::gen::weightedElement<int>({{4, 100}, {1, 25}, {1, 50}, {1, 90}, {1, 150}, {1, 250}}));
  for (std::size_t i = from; i < faults.size(); ++i) {
    const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(faults[i].duration * percent / 100);
    if (milliseconds.count() != 0) faults[i].duration = milliseconds;
  }
}

class RandomWalks final : public Strategy {
 public:
  explicit RandomWalks(StrategyOptions options) : options_(std::move(options)) {
    options_.sweep.idle_repeats = idle_repeats;
  }

  [[nodiscard]] SweepPlan first(const History& clean) const override {
    SweepPlan plan = sweep(clean, options_.sweep);
    std::erase_if(plan.cells, [&](const SweepCell& cell) {
      const Bounds left = after(cell, options_.bounds);
      return left.faults < 0 || left.switches < 0;
    });
    std::vector<SweepCell> drawn;
    for (int unit = 0; unit < options_.plans && !plan.cells.empty(); ++unit)
      drawn.push_back(next(static_cast<std::size_t>(unit), 0, plan.cells));
    plan.cells = std::move(drawn);
    std::erase_if(plan.columns, [&](const std::string& column) {
      return std::none_of(plan.cells.begin(), plan.cells.end(),
                          [&](const SweepCell& cell) { return cell.column == column; });
    });
    return plan;
  }

  [[nodiscard]] std::vector<SweepCell> below(const Visit& visit) const override {
    rc::Random random = random_for(visit.unit, ~std::uint64_t{0});
    const int most = options_.bounds.faults + options_.bounds.switches;
    if (static_cast<int>(visit.windows) >= draw(random, rc::gen::inRange(1, most + 1))) return {};
    const std::vector<SweepCell> cells = children(*visit.history, *visit.plan, options_.sweep, visit.left);
    if (cells.empty()) return {};
    return {next(visit.unit, visit.windows, cells, visit.plan->faults.size())};
  }

 private:
  [[nodiscard]] rc::Random random_for(std::size_t unit, std::uint64_t step) const {
    return rc::Random(rc::Random::Key{options_.seed, unit, step, 0});
  }

  [[nodiscard]] SweepCell next(std::size_t unit, std::size_t step, const std::vector<SweepCell>& cells,
                               std::size_t faults_before = 0) const {
    rc::Random random = random_for(unit, step);
    SweepCell cell = draw_cell(random, cells);
    stretch(random, cell.faults, faults_before);
    return cell;
  }

  StrategyOptions options_;
};

}  // namespace

std::unique_ptr<Strategy> make_random(const StrategyOptions& options) { return std::make_unique<RandomWalks>(options); }

}  // namespace halfsent
