#include "harness/cli/tally.h"

#include <algorithm>
#include <utility>

#include "harness/contract/judge.h"

namespace halfsent {

namespace fs = std::filesystem;

ExitCode code_of(const CellResult& cell) { return cell.error ? cell.error->code : exit_code(cell.verdict); }

ExitCode code_of(const CampaignResult& campaign) {
  ExitCode code = exit_code(campaign.clean_verdict);
  for (const auto* cells : {&campaign.regressions, &campaign.cells, &campaign.deeper.cells})
    for (const CellResult& cell : *cells) code = more_serious(code, code_of(cell));
  if (campaign.sweep.cells.empty()) code = more_serious(code, ExitCode::not_reached);
  const bool all = campaign.units_done == campaign.units && !campaign.interrupted && campaign.capped.empty();
  return all ? code : more_serious(code, ExitCode::incomplete);
}

void Tally::take(const Record& record, const fs::path& folder) {
  if (const auto* clean = std::get_if<CleanRecord>(&record)) {
    if (!clean_) ++result_.executions;
    if (!clean_) clean_ = *clean;
  } else if (const auto* plan = std::get_if<PlanRecord>(&record)) {
    take_plan(*plan, folder);
  } else if (const auto* unit = std::get_if<UnitRecord>(&record)) {
    done_.emplace(unit->unit, unit->childless);
    // Nobody asks for those below it any more.
    const std::string name = unit_name(unit->unit);
    names_.erase(names_.lower_bound(name + "."), names_.lower_bound(name + "/"));
  } else if (const auto* twin = std::get_if<TwinRecord>(&record)) {
    result_.twin = *twin;
  }
}

void Tally::take_plan(const PlanRecord& record, const fs::path& folder) {
  if (!names_.insert(record.name).second) return;  // a second record of a run that was cut off in between
  result_.executions += record.runs;
  const Result<Plan> plan = parse_plan(record.plan);
  CellResult done{.cell = {},
                  .plan = plan ? *plan : Plan{},
                  .verdict = record.verdict,
                  .error = record.error,
                  .history = {},
                  .regression = record.regression};
  if (!plan) done.error = plan.error();
  const ExitCode code = code_of(done);
  if (code != ExitCode::held) done.history = folder / (record.name + ".history.jsonl");
  if (!record.regression.empty()) {
    regressions_.insert_or_assign(record.name, std::move(done));
    return;
  }
  if (record.windows > 1) {
    ++result_.deeper.plans[record.windows];
    if (code == ExitCode::held) ++result_.deeper.held;
    if (code != ExitCode::held) deeper_.insert_or_assign(record.name, std::move(done));
    return;
  }
  if (code == ExitCode::violated) first_violation_ = std::min(first_violation_.value_or(record.unit), record.unit);
  cells_.insert_or_assign(record.unit, std::move(done));
}

bool Tally::first_violation_is_known() const {
  if (!first_violation_) return false;
  return static_cast<std::size_t>(std::distance(cells_.begin(), cells_.find(*first_violation_))) == *first_violation_;
}

CampaignResult Tally::finish(History clean) {
  result_.clean = std::move(clean);
  if (clean_) result_.clean_verdict = clean_->verdict;
  result_.sweep = make_strategy(result_.spec.strategy, result_.spec.options)->first(result_.clean);
  for (std::size_t unit = 0; unit < result_.sweep.cells.size(); ++unit) {
    if (has(result_.spec.shard, unit)) ++result_.units;
    const auto found = cells_.find(unit);
    if (found == cells_.end()) continue;
    found->second.cell = result_.sweep.cells[unit];
    result_.cells.push_back(std::move(found->second));
  }
  for (auto& [name, cell] : deeper_) result_.deeper.cells.push_back(std::move(cell));
  for (auto& [name, cell] : regressions_) result_.regressions.push_back(std::move(cell));
  result_.units_done = units_done();
  for (const auto& [unit, childless] : done_) result_.deeper.childless += childless;
  return std::move(result_);
}

}  // namespace halfsent
