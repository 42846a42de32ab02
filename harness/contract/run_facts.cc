#include "harness/contract/run_facts.h"

#include <algorithm>

#include "harness/contract/sentences.h"

namespace halfsent {
namespace {

// When a fault that struck at an event is over by itself.
Nanoseconds over_at(const Fault& fault, Nanoseconds from) {
  switch (fault.kind) {
    case FaultKind::skew:
    case FaultKind::step:
    case FaultKind::restart:
      return from;  // a state of things; what it leads to is told elsewhere
    case FaultKind::refuse:
      return fault.duration.count() > 0 ? from + fault.duration : Nanoseconds::max();
    default:
      return from + fault.duration;
  }
}

class RunGatherer {
 public:
  explicit RunGatherer(RunFacts& facts) : facts_(facts) {}

  void take(const Event& event) {
    if (const auto* fired = std::get_if<FaultFired>(&event.body)) strike(event, *fired);
    if (std::holds_alternative<Started>(event.body)) is_back(event, FaultKind::kill, FaultKind::term);
    if (std::holds_alternative<Released>(event.body)) is_back(event, FaultKind::hold, FaultKind::hold);
    if (std::holds_alternative<Ended>(event.body) && event.process == 0) facts_.ended[life_of(event)] = &event;
    if (std::holds_alternative<Stopped>(event.body) || std::holds_alternative<Waiting>(event.body))
      facts_.last_step[life_of(event)] = event.seq;
    if (const auto* change = std::get_if<LedgerChanged>(&event.body)) see_columns(*change);
  }

 private:
  void strike(const Event& event, const FaultFired& fired) {
    const auto& faults = facts_.plan->faults;
    if (fired.fault < 0 || static_cast<std::size_t>(fired.fault) >= faults.size()) return;
    const Fault& fault = faults[static_cast<std::size_t>(fired.fault)];
    facts_.disturbances.push_back({.fired = &event, .fault = &fault, .until = over_at(fault, event.at)});
  }

  // The last disturbance of this kind that struck the actor is over now.
  void is_back(const Event& event, FaultKind one, FaultKind other) {
    for (auto it = facts_.disturbances.rbegin(); it != facts_.disturbances.rend(); ++it) {
      if (it->fired->actor != event.actor || (it->fault->kind != one && it->fault->kind != other)) continue;
      it->until = std::max(it->until, event.at);
      return;
    }
  }

  void see_columns(const LedgerChanged& change) {
    facts_.has_attempts = facts_.has_attempts || change.attempts >= 0;
    facts_.has_lease = facts_.has_lease || change.lease_until.count() >= 0;
    facts_.has_cohort = facts_.has_cohort || !change.cohort.empty();
    facts_.has_authority = facts_.has_authority || !change.authority.empty();
    facts_.has_due = facts_.has_due || change.due_at.count() >= 0;
  }

  RunFacts& facts_;
};

bool is_clock_fault(const Fault& fault) { return fault.kind == FaultKind::skew || fault.kind == FaultKind::step; }

Nanoseconds plus(Nanoseconds a, Nanoseconds b) {
  return a > Nanoseconds::max() - b ? Nanoseconds::max() : a + b;  // b is never negative
}

}  // namespace

bool RunFacts::clock_is_off(const std::string& actor) const {
  return std::any_of(disturbances.begin(), disturbances.end(), [&](const Disturbance& disturbance) {
    return is_clock_fault(*disturbance.fault) && disturbance.fired->actor == actor;
  });
}

bool RunFacts::is_alive_after(const Life& life, Seq seq) const {
  const auto found = ended.find(life);
  if (found == ended.end() || found->second->seq > seq) return true;
  const auto step = last_step.find(life);  // of a process that outlived the first one
  return step != last_step.end() && step->second > seq;
}

Nanoseconds RunFacts::deadline(Nanoseconds from, Nanoseconds allowed) const {
  for (const Disturbance& disturbance : disturbances) {
    if (!is_clock_fault(*disturbance.fault)) continue;
    const Nanoseconds by = disturbance.fault->duration;
    allowed = plus(allowed, by.count() < 0 ? -by : by);
  }
  Nanoseconds limit = plus(from, allowed);
  for (const Disturbance& disturbance : disturbances) {
    if (disturbance.fired->at <= limit && disturbance.until > from)
      limit = std::max(limit, plus(disturbance.until, allowed));
  }
  return limit;
}

bool RunFacts::is_disturbed(Nanoseconds from, Nanoseconds until) const {
  return std::any_of(disturbances.begin(), disturbances.end(), [&](const Disturbance& disturbance) {
    return is_clock_fault(*disturbance.fault) || (disturbance.fired->at <= until && disturbance.until >= from);
  });
}

RunFacts gather_run_facts(const History& history, const Plan& plan, const Facts& facts, std::string why_incomplete) {
  RunFacts run;
  run.history = &history;
  run.plan = &plan;
  run.facts = &facts;
  for (const auto& [key, job] : facts.jobs) {
    std::vector<RowChange> changes = row_changes(job);
    if (!changes.empty()) run.rows.emplace(key, std::move(changes));
  }
  RunGatherer gatherer(run);
  for (const Event& event : history.events) gatherer.take(event);
  if (!history.events.empty()) {
    const Event& last = history.events.back();
    run.end = last.at;
    if (std::holds_alternative<Finished>(last.body)) run.finished = &last;
  }
  const bool by_itself = run.finished != nullptr && is_complete(std::get<Finished>(run.finished->body));
  run.complete = by_itself && why_incomplete.empty();
  run.why_incomplete =
      by_itself || !why_incomplete.empty() ? std::move(why_incomplete) : "the execution did not run its course";
  return run;
}

std::string name_of(const Life& life) {
  return who(Event{.actor = life.actor, .incarnation = life.incarnation, .body = Started{}});
}

std::string doer_and_when(const RowChange& change) {
  return name_of(change.by) + " at " + in_seconds(change.event->at);
}

}  // namespace halfsent
