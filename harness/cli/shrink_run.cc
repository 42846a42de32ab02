#include "harness/cli/shrink_run.h"

#include <fmt/format.h>

#include <algorithm>

#include "harness/cli/campaign.h"
#include "harness/cli/progress.h"
#include "harness/cli/stored_run.h"
#include "harness/explore/shrink.h"
#include "harness/world/execution.h"
#include "reports/layout.h"

namespace halfsent {
namespace {

namespace fs = std::filesystem;

// What is told first of a violation: the verdict on a job, or else the rule of the run.
std::string kind_of(const Verdict& verdict) {
  for (const KeyVerdict& key : verdict.keys)
    if (is_violation(key.kind)) return std::string(to_string(key.kind));
  return verdict.broken.empty() ? std::string() : verdict.broken.front().invariant;
}

bool fails_with(const std::string& kind, const Verdict& verdict) {
  return exit_code(verdict) == ExitCode::violated &&
         (std::any_of(verdict.keys.begin(), verdict.keys.end(),
                      [&](const KeyVerdict& key) { return to_string(key.kind) == kind; }) ||
          std::any_of(verdict.broken.begin(), verdict.broken.end(),
                      [&](const RunViolation& broken) { return broken.invariant == kind; }));
}

}  // namespace

Result<SmallerPlan> shrink_run(const Scenario& scenario, const CellResult& counterexample, const std::string& budget,
                               const fs::path& out) {
  const Result<Nanoseconds> allowed = parse_duration(budget);
  if (!allowed) return allowed.error();
  SmallerPlan smaller{.result = counterexample};
  if (allowed->count() <= 0 || smaller_plans(counterexample.plan).empty()) return smaller;
  const double allowed_s = std::chrono::duration<double>(*allowed).count();
  const Result<std::unique_ptr<Runner>> runner = Runner::create(scenario);
  if (!runner) return runner.error();
  const std::string kind = kind_of(counterexample.verdict);
  const ContractTerms terms = terms_of(scenario);
  const Stopwatch watch;
  std::optional<Error> error;
  const auto attempt = [&](const Plan& plan) {
    if (watch.seconds() >= allowed_s || interrupted_by != 0) return Tried::stop;
    const Result<Execution> execution = (*runner)->run(plan, StartMode::fork);
    if (!execution) error = execution.error();
    if (!execution) return Tried::stop;
    return fails_with(kind, judge(execution->history, plan, terms)) ? Tried::same : Tried::other;
  };
  const Shrunk shrunk = shrink(counterexample.plan, attempt);
  if (error) return *error;
  const std::string why = shrunk.minimal ? "no smaller one fails so" : fmt::format("the {} were up", budget);
  const auto line = [&](const std::string& text) {
    return fmt::format("shrunk        {}: {} tried, {}\n", text, count_of(shrunk.tried, "smaller plan"), why);
  };
  smaller.how = line("not");
  if (shrunk.plan == counterexample.plan) return smaller;
  const Result<Execution> real = (*runner)->run(shrunk.plan);
  if (!real) return real.error();
  if (Result<void> stored = store(out, "shrunk", *real); !stored) return stored.error();
  const Verdict verdict = judge(real->history, shrunk.plan, terms);
  if (!fails_with(kind, verdict)) {
    smaller.how = "shrunk        not: a smaller plan failed with forked programs only\n";
    return smaller;
  }
  smaller.result.plan = shrunk.plan;
  smaller.result.verdict = verdict;
  smaller.result.history = out / "shrunk.history.jsonl";
  smaller.how =
      line(fmt::format("from {} to {}", count_of(static_cast<int>(counterexample.plan.faults.size()), "fault"),
                       count_of(static_cast<int>(shrunk.plan.faults.size()), "fault")));
  return smaller;
}

}  // namespace halfsent
