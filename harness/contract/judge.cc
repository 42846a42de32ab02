#include "harness/contract/judge.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <set>

#include "harness/contract/earned.h"
#include "harness/contract/invariants.h"
#include "harness/contract/objectives.h"
#include "harness/contract/operations.h"
#include "harness/contract/run_invariants.h"
#include "harness/contract/sentences.h"

namespace halfsent {
namespace {

constexpr std::array invariants = {
    Invariant{"duplicate", "one job accepted more than once", VerdictKind::duplicate, is_duplicate},
    Invariant{"ghost", "accepted for a job that was rolled back: the ledger has no row for it", VerdictKind::ghost,
              is_ghost},
    Invariant{"phantom", "reported delivered, never accepted", VerdictKind::phantom, is_phantom},
    Invariant{"hidden", "neither delivered nor flagged: deleted, in an unlisted state, or looping beyond its attempts",
              VerdictKind::hidden, is_hidden},
    Invariant{"lost", "never accepted, and nothing will try again", VerdictKind::lost, is_lost},
    Invariant{"wrong_key", "several idempotency keys for one job, or one for several", VerdictKind::wrong_key,
              is_wrong_key},
    Invariant{"misflag", "accepted, yet flagged as failed: an invitation to send it again", VerdictKind::misflag,
              is_misflag},
    Invariant{"stuck", "not terminal within the horizon", VerdictKind::stuck, is_stuck},
};

constexpr std::array run_invariants = {
    RunInvariant{"unique_key", "one row for each key", judge_unique_key},
    RunInvariant{"early_reclaim", "a lease is not taken from a living holder before it runs out", judge_early_reclaim},
    RunInvariant{"lease_recovery", "a lease that has run out is taken up within the stated time", judge_lease_recovery},
    RunInvariant{"stale_holder", "who holds the job no more changes nothing", judge_stale_holder},
    RunInvariant{"attempts", "attempts count claims, and there are no more than allowed", judge_attempts},
    RunInvariant{"transitions", "a row makes only legal transitions", judge_transitions},
    RunInvariant{"claims_are_run", "whoever claims a job runs it", judge_claims_are_run},
    RunInvariant{"pending_age", "the age of the oldest pending job returns to zero", judge_pending_age},
    RunInvariant{"one_authority", "one scheduling authority for each cohort", judge_one_authority},
    RunInvariant{"eligible", "eligible equals created equals delivered plus flagged", judge_eligible},
    RunInvariant{"drains", "everything comes to rest once faults stop", judge_drains},
};

void count_effects(const History& history, Verdict& verdict) {
  for (const auto& event : history.events) {
    const auto* accepted = std::get_if<Accepted>(&event.body);
    if (accepted == nullptr) continue;
    ++(accepted->deduplicated ? verdict.deduplicated : verdict.accepted);
  }
}

void copy_notes(const History& history, Verdict& verdict) {
  for (const auto& event : history.events) {
    const auto* note = std::get_if<Note>(&event.body);
    if (note == nullptr) continue;
    if (std::find(verdict.notes.begin(), verdict.notes.end(), note->text) != verdict.notes.end()) continue;
    verdict.notes.push_back(note->text);
  }
}

void settled(const JobFacts& job, KeyVerdict& verdict) {
  const auto effects = job.new_effects();
  std::vector<std::string> accepts;
  for (const auto* effect : effects) {
    accepts.push_back("from " + who_and_when(*effect->accepted));
    verdict.evidence.push_back(effect->accepted->seq);
  }
  verdict.kind = job.state == JobState::flagged ? VerdictKind::flagged : VerdictKind::once;
  verdict.why =
      effects.empty() ? "not accepted" : fmt::format("accepted {}, {}", times(effects.size()), listed(accepts));
  if (const Event* last = job.last_change()) {
    verdict.why += ", " + row_change(*last);
    verdict.evidence.push_back(last->seq);
    std::sort(verdict.evidence.begin(), verdict.evidence.end());
  }
}

void note_doubt(const JobFacts& job, const ContractTerms& terms, Verdict& verdict) {
  if (!is_allowed_duplicate(job, terms)) return;
  auto effects = job.new_effects();
  std::sort(effects.begin(), effects.end(), [](const Effect* a, const Effect* b) { return a->asked() < b->asked(); });
  std::vector<std::string> reasons;
  for (std::size_t i = 0; i < effects.size(); ++i) {
    const bool repeated = i + 1 < effects.size() && effects[i + 1]->late == nullptr;
    if (repeated) reasons.push_back(effects[i]->doubt_reason);
    if (effects[i]->late != nullptr)
      reasons.push_back(fmt::format("{} was stopped until {}, when another had the job", who(*effects[i]->late),
                                    in_seconds(effects[i]->late->at)));
  }
  verdict.notes.push_back(fmt::format("{} was accepted {}; allowed, since the scenario says on_doubt = \"retry\": {}",
                                      quote_key(job.key), times(effects.size()), listed(reasons)));
}

// False: the execution was cut short and the job was still open, so there is nothing to say about it.
bool judge_job(const JobFacts& job, const ContractTerms& terms, Verdict& verdict) {
  KeyVerdict key;
  key.key = job.key;
  key.indeterminate =
      std::any_of(job.effects.begin(), job.effects.end(), [](const Effect& effect) { return effect.doubt != nullptr; });
  bool violated = false;
  for (const auto& invariant : invariants) {
    KeyVerdict said = key;
    if (terms.without.contains(std::string(invariant.name)) || !invariant.violated(job, terms, said)) continue;
    if (violated) {
      verdict.notes.push_back(fmt::format("{} is also {}: {}", quote_key(job.key), invariant.name, said.why));
    } else {
      key = std::move(said);
      violated = true;
    }
  }
  if (!violated) {
    const bool terminal =
        job.state == JobState::flagged || (job.state == JobState::delivered && !job.new_effects().empty());
    if (!job.complete && !terminal) return false;
    settled(job, key);
    note_doubt(job, terms, verdict);
  }
  verdict.keys.push_back(std::move(key));
  return true;
}

// When the last of the judged jobs became delivered or flagged for good.
Nanoseconds last_terminal(const JobFacts& job) {
  Nanoseconds at{0};
  for (const Event* event : job.changes) {
    const auto& change = std::get<LedgerChanged>(event->body);
    const auto terminal = [](JobState s) { return s == JobState::delivered || s == JobState::flagged; };
    if (terminal(change.to) && !terminal(change.from)) at = event->at;
  }
  return at;
}

void note_unstated_doubt(const ContractTerms& terms, Verdict& verdict) {
  if (terms.downstream_honours_key || terms.on_doubt != ContractTerms::OnDoubt::unstated) return;
  if (std::none_of(verdict.keys.begin(), verdict.keys.end(), [](const KeyVerdict& k) { return k.indeterminate; }))
    return;
  verdict.notes.push_back(
      "an effect is in doubt and the downstream does not honour keys: the scenario must say on_doubt = \"retry\" or "
      "\"flag\"; until it does, any duplicate is a violation");
}

// The keys to judge, and a note on what the ledger or the downstream saw beyond them.
std::set<std::string> judged_keys(const Facts& facts, const ContractTerms& terms, Verdict& verdict) {
  std::set<std::string> keys(terms.keys.begin(), terms.keys.end());
  std::vector<std::string> others;
  for (const auto& [key, job] : facts.jobs) {
    if (!facts.known.contains(key)) {
      // Whoever lists the jobs cannot list one that must not be.
      if (!job.new_effects().empty()) keys.insert(key);
    } else if (terms.keys.empty()) {
      keys.insert(key);
    } else if (!keys.contains(key)) {
      others.push_back(quote_key(key));
    }
  }
  if (!others.empty()) {
    verdict.notes.push_back("not judged, because the scenario does not list them: " + listed(others));
  }
  return keys;
}

void judge_numbers(const History& history, const ContractTerms& terms, bool whole, Verdict& verdict) {
  if (terms.objectives == Objectives{} && terms.expectations == Expectations{}) return;
  const Operations seen = watch(history, terms);
  judge_objectives(seen, terms.objectives, whole, verdict);
  judge_expectations(seen, terms.expectations, whole, verdict);
}

// What the terms leave out of invariants that are judged all the same.
void note_parts(const ContractTerms& terms, Verdict& verdict) {
  if (!terms.max_attempts && !terms.without.contains("hidden"))
    verdict.not_judged.push_back({"hidden loops", "no max_attempts is stated"});
  if (terms.failed_words.empty() && !terms.without.contains("misflag"))
    verdict.not_judged.push_back({"misflag words", "no failed states are stated"});
}

void judge_run(const RunFacts& run, const ContractTerms& terms, Verdict& verdict) {
  for (const auto& invariant : invariants) {
    const std::string name(invariant.name);
    if (terms.without.contains(name)) {
      verdict.not_judged.push_back({name, "turned off"});
    } else {
      verdict.judged.push_back(name);
    }
  }
  note_parts(terms, verdict);
  for (const auto& invariant : run_invariants) {
    const std::string name(invariant.name);
    if (terms.without.contains(name)) {
      verdict.not_judged.push_back({name, "turned off"});
      continue;
    }
    RunFindings found = invariant.judge(run, terms);
    if (found.not_judged.empty()) {
      verdict.judged.push_back(name);
    } else {
      verdict.not_judged.push_back({name, std::move(found.not_judged)});
    }
    for (RunViolation& violation : found.broken) {
      violation.invariant = name;
      verdict.broken.push_back(std::move(violation));
    }
  }
}

int seriousness(ExitCode code) {
  constexpr std::array order = {ExitCode::harness_fault, ExitCode::usage,        ExitCode::violated,
                                ExitCode::diverged,      ExitCode::inconclusive, ExitCode::not_reached,
                                ExitCode::incomplete,    ExitCode::held,         ExitCode::skipped};
  return static_cast<int>(std::distance(order.begin(), std::find(order.begin(), order.end(), code)));
}

}  // namespace

std::span<const Invariant> invariant_table() { return invariants; }
std::span<const RunInvariant> run_invariant_table() { return run_invariants; }

std::vector<std::string> invariant_names() {
  std::vector<std::string> names;
  for (const auto& invariant : invariants) names.emplace_back(invariant.name);
  for (const auto& invariant : run_invariants) names.emplace_back(invariant.name);
  return names;
}

Verdict judge(const History& history, const Plan& plan, const ContractTerms& terms) {
  Verdict verdict;
  count_effects(history, verdict);
  check_faults(history, plan, verdict);
  check_end(history, verdict);
  check_deaths(history, plan, verdict);
  copy_notes(history, verdict);

  const bool undecided = !verdict.inconclusive.empty();
  const std::string away = kept_away(history, plan);
  const Facts facts = gather_facts(history, terms);
  std::vector<std::string> open;
  for (const auto& key : judged_keys(facts, terms, verdict)) {
    JobFacts job = facts.jobs.at(key);
    // Nobody knows what a worker that died unasked, or that the plan keeps away, would still have done: what happened
    // is judged, what is absent is not.
    if (undecided || !away.empty()) job.complete = false;
    if (!judge_job(job, terms, verdict)) open.push_back(quote_key(key));
    verdict.last_terminal = std::max(verdict.last_terminal, last_terminal(job));
  }
  if (!open.empty() && !undecided && !away.empty()) {
    verdict.inconclusive.push_back(
        fmt::format("not judged, because nobody was left to do it: {}; missing: {}", listed(open), away));
  } else if (!open.empty()) {
    verdict.inconclusive.push_back("not judged, because the execution did not run its course: " + listed(open));
  }
  for (const auto& problem : facts.attribution_problems) {
    verdict.inconclusive.push_back(problem + " (say in [downstream] where a request tells its key or job)");
  }
  note_unstated_doubt(terms, verdict);
  const char* why_incomplete = undecided ? "the execution did not run its course" : "nobody was left to do it";
  const bool whole = !undecided && away.empty();
  judge_run(gather_run_facts(history, plan, facts, whole ? "" : why_incomplete), terms, verdict);
  judge_numbers(history, terms, whole, verdict);
  return verdict;
}

ExitCode exit_code(const Verdict& verdict) {
  ExitCode code = is_violated(verdict) ? ExitCode::violated : ExitCode::held;
  if (!verdict.inconclusive.empty()) code = more_serious(code, ExitCode::inconclusive);
  if (!verdict.not_reached.empty() || verdict.keys.empty()) code = more_serious(code, ExitCode::not_reached);
  return code;
}

ExitCode more_serious(ExitCode a, ExitCode b) { return seriousness(a) <= seriousness(b) ? a : b; }

}  // namespace halfsent
