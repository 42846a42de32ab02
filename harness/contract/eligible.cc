#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "harness/contract/run_invariants.h"
#include "harness/contract/sentences.h"
#include "harness/core/plan.h"

namespace halfsent {
namespace {

enum class Outcome { open, delivered, flagged };

// What became of the job; a row that was removed counts as what it was, or as delivered when its sender removed it.
Outcome outcome_of(const JobFacts& job, const std::vector<RowChange>& changes) {
  const RowChange& last = changes.back();
  const JobState state = last.now->to == JobState::none ? last.now->from : last.now->to;
  if (state == JobState::delivered) return Outcome::delivered;
  if (state == JobState::flagged) return Outcome::flagged;
  const bool sent = last.now->to == JobState::none && was_its_sender(job, last.by, last.event->seq);
  return sent ? Outcome::delivered : Outcome::open;
}

struct Count {
  std::set<std::string> created;
  std::vector<std::string> not_eligible;
  std::vector<std::string> open;
  std::size_t delivered = 0;
  std::size_t flagged = 0;
  std::vector<Seq> evidence;
};

Count count(const RunFacts& run, const std::set<std::string>& eligible) {
  Count counted;
  for (const auto& [key, changes] : run.rows) {
    const std::string& slot = changes.front().now->slot;
    const std::string& name = slot.empty() ? key : slot;
    counted.created.insert(name);
    if (!eligible.contains(name)) {
      counted.not_eligible.push_back(fmt::format("{} ({})", quote_key(name), row_change(*changes.front().event)));
      counted.evidence.push_back(changes.front().event->seq);
    }
    const Outcome outcome = outcome_of(run.facts->jobs.at(key), changes);
    counted.delivered += outcome == Outcome::delivered ? 1 : 0;
    counted.flagged += outcome == Outcome::flagged ? 1 : 0;
    if (outcome == Outcome::open) counted.open.push_back(quote_key(key));
  }
  return counted;
}

}  // namespace

RunFindings judge_eligible(const RunFacts& run, const ContractTerms& terms) {
  RunFindings found;
  if (terms.eligible.empty()) found.not_judged = "no eligible jobs are stated";
  if (!run.complete) found.not_judged = run.why_incomplete;
  if (!found.not_judged.empty()) return found;
  const std::set<std::string> eligible(terms.eligible.begin(), terms.eligible.end());
  Count counted = count(run, eligible);
  std::vector<std::string> missing;
  for (const std::string& name : eligible) {
    if (!counted.created.contains(name)) missing.push_back(quote_key(name));
  }
  std::string why;
  const auto tell = [&why](std::string_view what, const std::vector<std::string>& names) {
    if (!names.empty()) why += fmt::format("; {}: {}", what, listed(names));
  };
  tell("never created", missing);
  tell("created and not eligible", counted.not_eligible);
  tell("neither delivered nor flagged", counted.open);
  if (why.empty() && counted.delivered + counted.flagged == eligible.size()) return found;
  counted.evidence.push_back(run.finished->seq);
  std::sort(counted.evidence.begin(), counted.evidence.end());
  found.broken.push_back({.why = fmt::format("{} eligible, {} created, {} delivered, {} flagged{}", eligible.size(),
                                             run.rows.size(), counted.delivered, counted.flagged, why),
                          .evidence = std::move(counted.evidence)});
  return found;
}

}  // namespace halfsent
