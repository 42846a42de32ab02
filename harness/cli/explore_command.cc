#include "harness/cli/explore_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>

#include "harness/cli/campaign.h"
#include "harness/cli/campaign_job.h"
#include "harness/cli/campaign_tell.h"
#include "harness/cli/progress.h"
#include "harness/cli/regressions.h"
#include "harness/cli/shrink_run.h"
#include "harness/cli/stored_run.h"
#include "harness/core/text.h"

namespace halfsent {
namespace {

namespace fs = std::filesystem;

// The exit code of 128 + signal when a signal ended the campaign.
ExitCode interrupted_code() { return static_cast<ExitCode>(128 + static_cast<int>(interrupted_by)); }

Error usage(std::string message, std::string mend) {
  return {.code = ExitCode::usage, .message = std::move(message), .mend = std::move(mend)};
}

// A pass says little when the same campaign would also have passed a system that is known to be wrong.
TwinRecord check_twin(const Scenario& scenario, const RunOptions& options, const fs::path& out) {
  if (!options.twin) return {.text = "the naive twin was not run"};
  if (scenario.naive_twin.empty())
    return {.text = "no naive twin is named: that this campaign would notice a wrong system is not shown"};
  const auto failed = [](const Error& error) { return TwinRecord{.text = error.to_string(), .code = error.code}; };
  Result<Scenario> twin = load_scenario(scenario.file.parent_path() / scenario.naive_twin);
  if (!twin) return failed(twin.error());
  twin->sweep_faults = scenario.sweep_faults;
  twin->without_invariants = scenario.without_invariants;
  std::error_code error;
  fs::create_directory(out / "twin", error);
  const Progress progress("naive twin " + twin->name);
  const Result<CampaignResult> campaign =
      run_campaign(*twin, spec_of(*twin, options.seed),
                   {.jobs = 1, .out = out / "twin", .stop_at_first_violation = true, .progress = progress.callback()});
  progress.finish();
  if (!campaign) return failed(campaign.error());
  for (const CellResult& cell : campaign->cells) {
    if (code_of(cell) != ExitCode::violated) continue;
    return {.text = fmt::format("The naive twin {} fails under the same campaign, after {} executions: {}", twin->name,
                                campaign->executions, printable(faults_of(cell.plan)))};
  }
  return {.text = fmt::format("the naive twin {} held too: this campaign shows nothing", twin->name),
          .code = ExitCode::harness_fault};
}

void tell_twin(const TwinRecord& twin) {
  if (twin.code == ExitCode::held) return say(twin.text + "\n");
  talk("halfsent: " + twin.text + "\n");
}

// What --faults says: which, and how many in one plan.
Result<void> take_faults(const RunOptions& options, Scenario& scenario, Bounds& bounds) {
  for (const std::string& word : options.faults) {
    const bool is_count =
        !word.empty() && std::all_of(word.begin(), word.end(), [](char c) { return c >= '0' && c <= '9'; });
    if (is_count && (word.size() > 1 || word == "0"))
      return usage(fmt::format("{} faults in one plan are out of reach", word),
                   "give 1 to 9; each more takes hundreds of times as long");
    if (is_count) {
      bounds.faults = word[0] - '0';
      continue;
    }
    Result<std::vector<FaultKind>> faults = parse_fault_kinds(word);
    if (!faults) return faults.error();
    scenario.sweep_faults = std::move(*faults);
  }
  if (options.switches) bounds.switches = *options.switches;
  auto& faults = scenario.sweep_faults;
  if (bounds.switches > 0 && std::find(faults.begin(), faults.end(), FaultKind::switch_) == faults.end())
    faults.push_back(FaultKind::switch_);
  return {};
}

Result<CampaignSpec> spec_from(const RunOptions& options, Scenario& scenario) {
  const bool sweeps = options.strategy == "sweep";
  const bool draws = options.strategy == "random";
  Bounds bounds{.faults = draws ? 2 : 1, .switches = draws ? 1 : 0};
  if (Result<void> taken = take_faults(options, scenario, bounds); !taken) return taken.error();
  if (sweeps && (bounds.faults > 1 || bounds.switches > 0))
    return usage("the strategy sweep strikes once in each execution", "say --strategy exhaustive or random");
  if (!draws && options.plans)
    return usage("--plans is for the strategy random", "the others have as many plans as there are");
  CampaignSpec spec = spec_of(scenario, options.seed, options.strategy);
  spec.options.bounds = bounds;
  if (options.plans) spec.options.plans = *options.plans;
  Result<Shard> shard = options.shard.empty() ? shard_of_environment([](const std::string& name) {
    const char* value = std::getenv(name.c_str());
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
  })
                                              : parse_shard(options.shard);
  if (!shard) return shard.error();
  spec.shard = std::move(*shard);
  return spec;
}

// Test runners that shard ask whether they were understood.
void tell_runner(const Shard& shard) {
  for (const char* name : {"TEST_SHARD_STATUS_FILE", "GTEST_SHARD_STATUS_FILE"}) {
    const char* file = std::getenv(name);
    if (file != nullptr && shard.source.find("TEST_") != std::string::npos) std::ofstream(file, std::ios::app);
  }
}

Result<CampaignOptions> limits_of(const RunOptions& options) {
  CampaignOptions limits;
  limits.keep_passes = options.keep_passes;
  limits.max_executions = options.max_executions;
  if (options.budget.empty()) return limits;
  const Result<Nanoseconds> budget = parse_duration(options.budget);
  if (!budget) return budget.error();
  if (budget->count() <= 0) return usage("a budget of " + options.budget + " runs nothing", "give it some time");
  limits.budget_s = std::chrono::duration<double>(*budget).count();
  return limits;
}

// The first counterexample, or the smallest plan that fails as it does; that plan.
std::optional<Plan> explain(const Scenario& scenario, const CampaignResult& campaign, const RunOptions& options,
                            const fs::path& out, const CommonOptions& common) {
  const CellResult* first = first_counterexample(campaign);
  if (first == nullptr) return std::nullopt;
  const Result<SmallerPlan> smaller = shrink_run(scenario, *first, options.shrink, out);
  if (!smaller) talk("halfsent: " + smaller.error().to_string() + "\n");
  const CellResult& shown = smaller ? smaller->result : *first;
  tell_counterexample(campaign, shown, common);
  if (smaller && !smaller->how.empty()) say(smaller->how);
  if (!options.save) return shown.plan;
  const Result<fs::path> saved = save_regression(scenario, shown.plan, shown.verdict);
  if (saved) say(fmt::format("saved         {}\n", saved->string()));
  if (!saved) talk("halfsent: " + saved.error().to_string() + "\n");
  return shown.plan;
}

ExitCode conclude(const Scenario& scenario, const CampaignResult& campaign, const RunOptions& options,
                  const fs::path& out, const CommonOptions& common) {
  tell_campaign(campaign, common);
  ExitCode code = code_of(campaign);
  const std::optional<Plan> shown =
      interrupted_by == 0 ? explain(scenario, campaign, options, out, common) : std::nullopt;
  const std::string resume = fmt::format("`halfsent run --resume {}` goes on", out.string());
  if (campaign.interrupted || interrupted_by != 0) {
    talk(fmt::format("halfsent: interrupted; {} of {} first plans are done, their results are in {}; {}\n",
                     campaign.units_done, campaign.units, out.string(), resume));
    return interrupted_code();
  }
  if (!campaign.capped.empty())
    talk(fmt::format("halfsent: the cap of {} was hit after {} of {} first plans; {}\n", campaign.capped,
                     campaign.units_done, campaign.units, resume));
  // Of several shards one may have nothing to find: whoever merges them judges that.
  if (code == ExitCode::held && campaign.spec.expect_violation && campaign.spec.shard.total == 1) {
    talk(fmt::format("halfsent: {} must fail, and nothing was found: the campaign is blind\n", scenario.name));
    return ExitCode::harness_fault;
  }
  // One shard shows it for all.
  if (code == ExitCode::held && campaign.spec.shard.index == 1) {
    const TwinRecord twin = check_twin(scenario, options, out);
    if (interrupted_by != 0) return interrupted_code();
    tell_twin(twin);
    code = twin.code;
    if (Result<void> kept = add_record(out, twin); !kept) return report(kept.error());
  }
  talk(fmt::format("seed {}; histories: {}\n", campaign.spec.options.seed, out.string()));
  if (shown) talk(replay_line(*shown));
  return code;
}

ExitCode run_and_conclude(const Scenario& scenario, const CampaignSpec& spec, CampaignOptions limits,
                          const RunOptions& options, const CommonOptions& common) {
  Result<std::vector<Regression>> regressions = load_regressions(scenario);
  if (!regressions) return report(regressions.error());
  limits.regressions = std::move(*regressions);
  limits.jobs = job_count(common);
  const Progress progress(scenario.name);
  limits.progress = progress.callback();
  tell_runner(spec.shard);
  const Result<CampaignResult> campaign = run_campaign(scenario, spec, limits);
  progress.finish();
  if (!campaign) return report(campaign.error());
  return conclude(scenario, *campaign, options, limits.out, common);
}

// One tally of all shards, each of which must be there once.
Result<CampaignResult> merged(const std::vector<fs::path>& folders) {
  std::vector<StoredResults> parts;
  for (const fs::path& folder : folders) {
    Result<StoredResults> part = load_results(folder);
    if (!part) return part.error();
    parts.push_back(std::move(*part));
  }
  CampaignSpec whole = parts.front().spec;
  whole.shard = {};
  Tally tally(whole);
  std::vector<const fs::path*> shards(static_cast<std::size_t>(parts.front().spec.shard.total), nullptr);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const CampaignSpec& spec = parts[i].spec;
    if (const std::string other = difference(parts.front().spec, spec); !other.empty())
      return usage(
          fmt::format("{} and {} are not of one campaign: {}", folders[0].string(), folders[i].string(), other),
          "merge the shards of one");
    const fs::path*& place = shards.at(static_cast<std::size_t>(spec.shard.index - 1));
    if (place != nullptr)
      return usage(fmt::format("{} and {} are both shard {}", place->string(), folders[i].string(), spec.shard.index),
                   "give each shard once");
    place = &folders[i];
    for (const Record& record : parts[i].records) {
      const auto* clean = std::get_if<CleanRecord>(&record);
      if (clean != nullptr && tally.clean() && tally.clean()->digest != clean->digest)
        return Error{.code = ExitCode::diverged,
                     .message = fmt::format("the execution without faults went another way in {} than in {}",
                                            folders[i].string(), folders[0].string()),
                     .mend = "run all shards with the same files, programs and libraries"};
      tally.take(record, folders[i]);
    }
  }
  for (std::size_t i = 0; i < shards.size(); ++i)
    if (shards[i] == nullptr)
      talk(fmt::format("halfsent: shard {} of {} is missing: the campaign is incomplete\n", i + 1, shards.size()));
  Result<History> clean = load_history(folders.front() / (std::string(clean_name) + ".history.jsonl"));
  if (!clean) return clean.error();
  return tally.finish(std::move(*clean));
}

}  // namespace

ExitCode explore_command(Scenario scenario, const RunOptions& options, const CommonOptions& common) {
  const Result<CampaignSpec> spec = spec_from(options, scenario);
  if (!spec) return report(spec.error());
  Result<CampaignOptions> limits = limits_of(options);
  if (!limits) return report(limits.error());
  Result<fs::path> out = make_run_folder(common.out, scenario.name, options.seed);
  if (!out) return report(out.error());
  limits->out = std::move(*out);
  return run_and_conclude(scenario, *spec, std::move(*limits), options, common);
}

ExitCode resume_command(const RunOptions& options, const CommonOptions& common) {
  const Result<StoredResults> stored = load_results(options.resume);
  if (!stored) return report(stored.error());
  Result<Scenario> scenario = load_scenario(options.scenario.empty() ? fs::path(stored->spec.file) : options.scenario);
  if (!scenario) return report(scenario.error());
  scenario->without_invariants = stored->spec.without;
  scenario->sweep_faults = stored->spec.options.sweep.faults;
  if (spec_of(*scenario, stored->spec.options.seed).digest != stored->spec.digest)
    return report(
        usage(fmt::format("{} has changed since {} was begun", scenario->file.string(), options.resume.string()),
              "run it anew, without --resume"));
  Result<CampaignOptions> limits = limits_of(options);
  if (!limits) return report(limits.error());
  limits->out = options.resume;
  limits->resumed = &*stored;
  RunOptions same = options;
  same.seed = stored->spec.options.seed;
  return run_and_conclude(*scenario, stored->spec, std::move(*limits), same, common);
}

ExitCode merge_command(const MergeOptions& options, const CommonOptions& common) {
  const Result<CampaignResult> campaign = merged(options.folders);
  if (!campaign) return report(campaign.error());
  tell_campaign(*campaign, common);
  ExitCode code = code_of(*campaign);
  const CellResult* first = first_counterexample(*campaign);
  if (first != nullptr) tell_counterexample(*campaign, *first, common);
  if (code == ExitCode::held && campaign->spec.expect_violation) {
    talk(
        fmt::format("halfsent: {} must fail, and nothing was found: the campaign is blind\n", campaign->spec.scenario));
    return ExitCode::harness_fault;
  }
  if (code == ExitCode::held && campaign->twin) {
    tell_twin(*campaign->twin);
    code = campaign->twin->code;
  }
  if (first != nullptr) talk(replay_line(first->plan));
  return code;
}

}  // namespace halfsent
