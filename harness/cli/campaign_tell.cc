#include "harness/cli/campaign_tell.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "harness/cli/stored_run.h"
#include "harness/core/text.h"
#include "reports/completeness.h"
#include "reports/divergence.h"

namespace halfsent {
namespace {

namespace fs = std::filesystem;

SweepSummary summary_of(const CampaignResult& campaign) {
  SweepSummary summary{.cells = {},
                       .executions = campaign.executions,
                       .columns = campaign.sweep.columns,
                       .unused_columns = campaign.sweep.unused,
                       .idle_left_out = campaign.sweep.left_out};
  for (const CellResult& cell : campaign.cells) {
    CellOutcome outcome = cell_outcome(cell.verdict);
    if (cell.error) outcome = cell.error->code == ExitCode::diverged ? CellOutcome::diverged : CellOutcome::error;
    summary.cells.push_back({.boundary = cell.cell.boundary, .column = cell.cell.column, .outcome = outcome});
    summary.accepted += cell.verdict.accepted;
    summary.deduplicated += cell.verdict.deduplicated;
    summary.faults_planned += cell.verdict.faults_planned;
    summary.faults_fired += cell.verdict.faults_fired;
  }
  return summary;
}

// Those of the parts of the campaign in the order in which they are told.
std::vector<const CellResult*> all_results(const CampaignResult& campaign) {
  std::vector<const CellResult*> all;
  for (const auto* cells : {&campaign.regressions, &campaign.cells, &campaign.deeper.cells})
    for (const CellResult& cell : *cells) all.push_back(&cell);
  return all;
}

Completeness completeness_of(const CampaignResult& campaign) {
  Completeness statement{.strategy = campaign.spec.strategy,
                         .bounds = campaign.spec.options.bounds,
                         .seed = campaign.spec.options.seed,
                         .faults = {},
                         .plans = campaign.deeper.plans,
                         .regressions = static_cast<int>(campaign.regressions.size()),
                         .executions = campaign.executions,
                         .childless = campaign.deeper.childless,
                         .idle_left_out = campaign.sweep.left_out,
                         .units = campaign.units,
                         .units_done = campaign.units_done,
                         .shard = campaign.spec.shard,
                         .capped = campaign.capped};
  for (const FaultKind kind : campaign.spec.options.sweep.faults) statement.faults.emplace_back(info(kind).name);
  for (const CellResult* cell : all_results(campaign))
    if (code_of(*cell) == ExitCode::not_reached) ++statement.not_reached;
  statement.plans[0] = 1;
  statement.plans[1] = static_cast<int>(campaign.cells.size());
  return statement;
}

void tell_divergence(const CellResult& cell, const CommonOptions& common) {
  const Result<History> first = load_history(cell.history);
  fs::path other = cell.history;
  const std::string name = other.filename().string();
  other.replace_filename(name.substr(0, name.find(".history")) + ".again.history.jsonl");
  const Result<History> second = load_history(other);
  if (first && second) say(divergence(*first, *second, common.style));
}

// Each failure by its plan, and what cannot be judged by its reason.
void tell_failures(const CampaignResult& campaign, const CommonOptions& common) {
  std::size_t told = 0;
  constexpr std::size_t most = 40;
  for (const CellResult* cell : all_results(campaign)) {
    if (code_of(*cell) == ExitCode::held || told++ >= most) continue;
    const std::string from = cell->regression.empty() ? "" : fmt::format("  ({})", printable(cell->regression));
    if (cell->error) {
      say(fmt::format("  {}{}\n    {}\n", printable(to_string(cell->plan)), from, printable(cell->error->to_string())));
      if (cell->error->code == ExitCode::diverged) tell_divergence(*cell, common);
      continue;
    }
    say(fmt::format("  {:<12} {}{}\n", to_string(cell_outcome(cell->verdict)), printable(to_string(cell->plan)), from));
    for (const RunViolation& broken : cell->verdict.broken)
      say(fmt::format("    {}: {}{}\n", broken.invariant, broken.key.empty() ? "" : quote_key(broken.key) + " ",
                      printable(broken.why)));
    for (const std::string& why : cell->verdict.inconclusive) say(fmt::format("    {}\n", printable(why)));
  }
  if (told > most) say(fmt::format("  and {} more\n", told - most));
}

}  // namespace

void say(const std::string& text) { std::fwrite(text.data(), 1, text.size(), stdout); }

void talk(const std::string& text) {
  std::fflush(stdout);
  std::fwrite(text.data(), 1, text.size(), stderr);
}

std::string faults_of(const Plan& plan) {
  std::string text;
  for (const Fault& fault : plan.faults) text += (text.empty() ? "" : "; ") + to_string(fault);
  return text;
}

void tell_campaign(const CampaignResult& campaign, const CommonOptions& common) {
  const Plan nothing{.scenario = campaign.spec.scenario, .seed = campaign.spec.options.seed, .faults = {}};
  if (exit_code(campaign.clean_verdict) != ExitCode::held) {
    say("Without any fault:\n\n" + story(campaign.clean, campaign.clean_verdict, common.style));
    say("\n" + verdict_block(campaign.clean_verdict, nothing, common.style) + "\n");
  }
  say(sweep_summary(summary_of(campaign), common.style));
  say(fmt::format("judged: {}\n", judged_line(campaign.clean_verdict)));
  say("\n" + completeness_statement(completeness_of(campaign)));
  if (code_of(campaign) == ExitCode::held) return;
  say("\n");
  tell_failures(campaign, common);
}

const CellResult* first_counterexample(const CampaignResult& campaign) {
  const CellResult* first = nullptr;
  int best = 4;
  for (const CellResult& cell : campaign.cells) {
    if (code_of(cell) != ExitCode::violated) continue;
    const bool crash = cell.plan.faults.size() == 1 && cell.plan.faults[0].kind == FaultKind::kill;
    const int rank = (cell_outcome(cell.verdict) == CellOutcome::broken ? 2 : 0) + (crash ? 0 : 1);
    if (rank >= best) continue;
    best = rank;
    first = &cell;
  }
  for (const auto* cells : {&campaign.deeper.cells, &campaign.regressions})
    for (const CellResult& cell : *cells)
      if (first == nullptr && code_of(cell) == ExitCode::violated) first = &cell;
  return first;
}

void tell_counterexample(const CampaignResult& campaign, const CellResult& counterexample,
                         const CommonOptions& common) {
  const Result<History> history = load_history(counterexample.history);
  if (!history) return talk("halfsent: " + history.error().to_string() + "\n");
  say(fmt::format("\nFirst counterexample of {} ({}):\n\n", printable(campaign.spec.scenario),
                  counterexample.history.string()));
  say(story(*history, counterexample.verdict, common.style));
  say("\n" + verdict_block(counterexample.verdict, counterexample.plan, common.style));
}

}  // namespace halfsent
