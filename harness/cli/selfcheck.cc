#include "harness/cli/selfcheck.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "harness/cli/campaign.h"
#include "harness/cli/progress.h"
#include "harness/cli/stored_run.h"
#include "harness/core/text.h"
#include "harness/world/execution.h"
#include "reports/selfcheck.h"

namespace halfsent {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view prefix = "selfcheck.";
constexpr std::string_view allowed_verdict = "flagged";

std::vector<std::string> verdict_names() {
  std::vector<std::string> names = invariant_names();
  names.emplace_back(allowed_verdict);
  return names;
}

std::set<std::string> kinds_of(const Verdict& verdict) {
  std::set<std::string> kinds;
  for (const KeyVerdict& key : verdict.keys)
    if (is_violation(key.kind)) kinds.emplace(to_string(key.kind));
  return kinds;
}

std::set<std::string> all_of(const Verdict& verdict) {
  std::set<std::string> names = kinds_of(verdict);
  for (const RunViolation& broken : verdict.broken) names.insert(broken.invariant);
  return names;
}

// Every verdict on a job is one of the row's, and so is at least one of all. A rule of the run that breaks beside them
// is no false accusation: the row names what must be seen.
bool is_right(const SeededDefect& defect, const Verdict& verdict) {
  const auto in_row = [&](const std::string& name) { return defect.verdicts.contains(name); };
  const std::set<std::string> kinds = kinds_of(verdict);
  const std::set<std::string> names = all_of(verdict);
  return std::all_of(kinds.begin(), kinds.end(), in_row) && std::any_of(names.begin(), names.end(), in_row);
}

bool is_flagged(const Verdict& verdict) {
  return std::any_of(verdict.keys.begin(), verdict.keys.end(),
                     [](const KeyVerdict& key) { return key.kind == VerdictKind::flagged; });
}

class Check {
 public:
  Check(const DefectTable& table, const SelfcheckOptions& options, int jobs, fs::path out)
      : table_(table), options_(options), jobs_(jobs), out_(std::move(out)) {}

  DefectReport defect(const SeededDefect& defect) {
    const Stopwatch watch;
    DefectReport report{.id = defect.id, .name = defect.name};
    if (std::optional<Error> error = look_for(defect, report)) {
      report.noticed = Noticed::crashed;
      report.verdict = error->to_string();
    }
    report.seconds = watch.seconds();
    return report;
  }

  // The right system in the scenarios of these rows, which differ in their faults only.
  Result<ReferenceReport> reference(const std::vector<const SeededDefect*>& defects) {
    Result<Scenario> scenario = scenario_of(table_, *defects.front(), false);
    if (!scenario) return scenario.error();
    ReferenceReport report{.name = {}, .accused = {}};
    std::set<FaultKind> faults;
    for (const SeededDefect* defect : defects) {
      report.name += (report.name.empty() ? "" : " ") + defect->id;
      faults.insert(defect->faults.begin(), defect->faults.end());
    }
    scenario->sweep_faults = {faults.begin(), faults.end()};
    const Result<CampaignResult> campaign = sweep(*scenario, "reference." + defects.front()->id, false);
    if (!campaign) return campaign.error();
    report.executions = campaign->executions;
    count(campaign->clean_verdict, Plan{.scenario = scenario->name, .seed = options_.seed, .faults = {}}, report);
    for (const CellResult& cell : campaign->cells) {
      if (cell.error) return *cell.error;
      count(cell.verdict, cell.plan, report);
    }
    return report;
  }

 private:
  static void count(const Verdict& verdict, const Plan& plan, ReferenceReport& report) {
    const ExitCode code = exit_code(verdict);
    report.held += code == ExitCode::held ? 1 : 0;
    report.undecided += code != ExitCode::held && code != ExitCode::violated ? 1 : 0;
    if (code == ExitCode::violated && report.accused.empty())
      report.accused = fmt::format("{}: {}", fmt::join(all_of(verdict), ", "), to_string(plan));
  }

  Result<CampaignResult> sweep(const Scenario& scenario, const std::string& folder, bool to_the_first) {
    std::error_code ignored;
    fs::create_directory(out_ / folder, ignored);
    return run_campaign(scenario, spec_of(scenario, options_.seed),
                        {.jobs = scenario.sweep_faults.empty() ? 1 : jobs_,
                         .out = out_ / folder,
                         .stop_at_first_violation = to_the_first});
  }

  std::optional<Error> look_for(const SeededDefect& defect, DefectReport& report) {
    Result<Scenario> scenario = scenario_of(table_, defect, true);
    if (!scenario) return scenario.error();
    scenario->without_invariants = options_.without;
    const bool is_control = defect.verdicts.contains(std::string(allowed_verdict));
    Scenario undisturbed = *scenario;
    undisturbed.sweep_faults.clear();
    const Result<CampaignResult> clean = sweep(undisturbed, defect.id, true);
    if (!clean) return clean.error();
    report.executions = 1;
    const bool clean_violates = exit_code(clean->clean_verdict) == ExitCode::violated;
    if (clean_violates || defect.faults.empty()) return judge_clean(defect, undisturbed, *clean, report);

    const Result<CampaignResult> campaign = sweep(*scenario, defect.id, !is_control);
    if (!campaign) return campaign.error();
    for (const CellResult& cell : campaign->cells) {
      if (cell.error) return cell.error;
      ++report.executions;
      if (exit_code(cell.verdict) == ExitCode::violated) return take(defect, cell, report);
      if (is_control && is_flagged(cell.verdict)) {
        report.noticed = Noticed::allowed;
        report.verdict = allowed_verdict;
      }
    }
    return defect.plan.empty() ? std::nullopt : try_plan(defect, *scenario, report);
  }

  // Twice: what does not repeat shows nothing.
  std::optional<Error> try_plan(const SeededDefect& defect, const Scenario& scenario, DefectReport& report) {
    const Result<Plan> plan =
        parse_plan(fmt::format("scenario {}; seed {}; {}", scenario.name, options_.seed, defect.plan));
    if (!plan) return plan.error();
    const Result<std::unique_ptr<Runner>> runner = Runner::create(scenario);
    if (!runner) return runner.error();
    const Result<Execution> first = (*runner)->run(*plan);
    if (!first) return first.error();
    if (Result<void> stored = store(out_ / defect.id, "plan", *first); !stored) return stored.error();
    const Result<Execution> second = (*runner)->run(*plan);
    if (!second) return second.error();
    if (digest(first->history) != digest(second->history))
      return Error{.code = ExitCode::diverged, .message = "a second execution of its plan went another way"};
    ++report.executions;
    const Verdict verdict = judge(first->history, *plan, terms_of(scenario));
    if (exit_code(verdict) != ExitCode::violated) return std::nullopt;
    report.noticed = is_right(defect, verdict) ? Noticed::by_plan : Noticed::wrong;
    report.verdict = fmt::format("{}", fmt::join(all_of(verdict), ", "));
    report.plan = defect.plan;
    return std::nullopt;
  }

  static std::optional<Error> take(const SeededDefect& defect, const CellResult& cell, DefectReport& report) {
    report.noticed = is_right(defect, cell.verdict) ? Noticed::caught : Noticed::wrong;
    report.verdict = fmt::format("{}", fmt::join(all_of(cell.verdict), ", "));
    for (const Fault& fault : cell.plan.faults) report.plan += (report.plan.empty() ? "" : "; ") + to_string(fault);
    return std::nullopt;
  }

  // A campaign runs a plan that violates twice; its clean execution only once.
  std::optional<Error> judge_clean(const SeededDefect& defect, const Scenario& scenario, const CampaignResult& clean,
                                   DefectReport& report) {
    if (exit_code(clean.clean_verdict) != ExitCode::violated) return std::nullopt;
    const Result<CampaignResult> again = sweep(scenario, defect.id + ".again", true);
    if (!again) return again.error();
    if (digest(again->clean) != digest(clean.clean))
      return Error{.code = ExitCode::diverged, .message = "a second execution without faults went another way"};
    report.noticed =
        defect.shows_without_faults && is_right(defect, clean.clean_verdict) ? Noticed::caught : Noticed::wrong;
    report.verdict = fmt::format("{}", fmt::join(all_of(clean.clean_verdict), ", "));
    if (!defect.shows_without_faults) report.verdict += " without any fault";
    return std::nullopt;
  }

  const DefectTable& table_;
  const SelfcheckOptions& options_;
  int jobs_;
  fs::path out_;
};

// Rows whose right system runs in one scenario, but for the faults.
std::vector<std::vector<const SeededDefect*>> same_scenarios(const std::vector<const SeededDefect*>& defects) {
  using Key = std::tuple<fs::path, std::optional<int>, std::optional<int>, std::vector<std::string>, std::string>;
  std::map<Key, std::vector<const SeededDefect*>> groups;
  for (const SeededDefect* d : defects) groups[{d->base, d->workers, d->jobs, d->options, d->setup_sql}].push_back(d);
  std::vector<std::vector<const SeededDefect*>> list;
  for (auto& [key, group] : groups) list.push_back(std::move(group));
  return list;
}

Result<std::vector<const SeededDefect*>> chosen(const DefectTable& table, const std::vector<std::string>& only) {
  std::vector<const SeededDefect*> rows;
  std::vector<std::string> names;
  for (const SeededDefect& defect : table.defects) {
    names.insert(names.end(), {defect.id, defect.name});
    if (only.empty()) rows.push_back(&defect);
  }
  for (const std::string& word : only) {
    const SeededDefect* defect = find_defect(table, word);
    if (defect == nullptr) {
      const std::string near = nearest(word, names);
      return Error{.code = ExitCode::usage,
                   .message = fmt::format("there is no seeded defect {}", printable(word)),
                   .mend = near.empty() ? "halfsent list defects names them" : "did you mean " + near + "?",
                   .file = table.file.string()};
    }
    rows.push_back(defect);
  }
  return rows;
}

void say(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

}  // namespace

ExitCode selfcheck_command(const SelfcheckOptions& options, const CommonOptions& common) {
  const Stopwatch watch;
  const Result<DefectTable> table = seeded_defects(options.table);
  if (!table) return report(table.error());
  const auto rows = chosen(*table, options.only);
  if (!rows) return report(rows.error());
  const Result<fs::path> out = make_run_folder(common.out, "selfcheck", options.seed);
  if (!out) return report(out.error());

  Check check(*table, options, job_count(common), *out);
  SelfcheckReport results;
  std::size_t widest = 0;
  for (const SeededDefect* row : *rows) widest = std::max(widest, row->name.size());
  std::string plain;
  for (const SeededDefect* row : *rows) {
    results.defects.push_back(check.defect(*row));
    if (interrupted_by != 0) return static_cast<ExitCode>(128 + static_cast<int>(interrupted_by));
    say(defect_line(results.defects.back(), widest, common.style));
    plain += defect_line(results.defects.back(), widest, {});
  }
  if (options.reference) say("\nthe right system, in the same scenarios\n");
  for (const auto& group : same_scenarios(*rows)) {
    if (!options.reference) break;
    const Result<ReferenceReport> reference = check.reference(group);
    if (interrupted_by != 0) return static_cast<ExitCode>(128 + static_cast<int>(interrupted_by));
    if (!reference) return report(reference.error());
    results.references.push_back(*reference);
    say(reference_line(*reference, common.style));
    plain += reference_line(*reference, {});
  }
  results.seconds = watch.seconds();
  say("\n" + selfcheck_totals(results, common.style));
  plain += selfcheck_totals(results, {});
  if (Result<void> written = write_text(*out / "selfcheck.txt", plain); !written) return report(written.error());
  return is_good(results) ? ExitCode::held : ExitCode::violated;
}

Result<DefectTable> seeded_defects(const fs::path& table) {
  return load_defects(table.empty() ? SelfcheckOptions{}.table : table, verdict_names());
}

bool is_selfcheck(const std::string& name) { return name.starts_with(prefix); }

Result<Scenario> find_selfcheck(const std::string& name, const fs::path& table) {
  const Result<DefectTable> found = seeded_defects(table);
  if (!found) return found.error();
  const auto rows = chosen(*found, {name.substr(prefix.size())});
  if (!rows) return rows.error();
  return scenario_of(*found, *rows->front(), true);
}

}  // namespace halfsent
