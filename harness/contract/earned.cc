#include "harness/contract/earned.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <map>
#include <set>
#include <vector>

#include "harness/contract/sentences.h"

namespace halfsent {
namespace {

// A condition that holds from the start (skew, step, restart) has no moment at which it must fire.
bool must_fire(const Fault& fault) { return fault.at.has_value() || fault.kind == FaultKind::refuse; }

const Fault* fault_of(const Plan& plan, const FaultFired& fired) {
  const auto index = static_cast<std::size_t>(fired.fault);
  return fired.fault >= 0 && index < plan.faults.size() ? &plan.faults[index] : nullptr;
}

// What a plan did to an actor that is a reason for ending by itself.
struct Reasons {
  std::set<std::string> terminated;  // actors whose present incarnation got a planned SIGTERM
  std::set<std::string> hit;         // actors whose present incarnation had a call on the ledger fail
  bool ledger_in_trouble = false;    // for everyone, from here on

  void take(const Plan& plan, const FaultFired& fired) {
    const Fault* fault = fault_of(plan, fired);
    if (fault == nullptr) return;
    if (fault->kind == FaultKind::term) terminated.insert(fault->target);
    if (fault->kind == FaultKind::io_error) hit.insert(fault->target);
    if (fault->kind == FaultKind::busy || fault->kind == FaultKind::read_only) ledger_in_trouble = true;
  }
  // A program may give up when its ledger fails: whoever starts it again is part of the system.
  [[nodiscard]] bool may_give_up(const std::string& actor) const { return ledger_in_trouble || hit.contains(actor); }
};

bool asked_for(const Ended& ended, const Reasons& reasons, const std::string& actor) {
  const bool after_term = reasons.terminated.contains(actor);
  switch (ended.how) {
    case Ended::How::killed_by_plan:
    case Ended::How::ended_with_world:
      return true;
    case Ended::How::exited:
      return ended.code == 0 || after_term || reasons.may_give_up(actor);
    case Ended::How::signalled:
      return after_term && ended.code == SIGTERM;
  }
  return false;
}

std::string death(const Event& event, const Ended& ended) {
  return fmt::format("{} {} {} at {}, which the plan did not ask for", who(event),
                     ended.how == Ended::How::exited ? "exited with code" : "was ended by signal", ended.code,
                     in_seconds(event.at));
}

}  // namespace

void check_faults(const History& history, const Plan& plan, Verdict& verdict) {
  std::set<std::size_t> fired;
  for (const auto& event : history.events) {
    const auto* fault = std::get_if<FaultFired>(&event.body);
    if (fault == nullptr || fault->fault < 0) continue;
    if (static_cast<std::size_t>(fault->fault) < plan.faults.size())
      fired.insert(static_cast<std::size_t>(fault->fault));
  }
  for (std::size_t i = 0; i < plan.faults.size(); ++i) {
    const bool took_effect = fired.contains(i);
    if (must_fire(plan.faults[i]) || took_effect) ++verdict.faults_planned;
    if (must_fire(plan.faults[i]) && !took_effect) verdict.not_reached.push_back(to_string(plan.faults[i]));
  }
  verdict.faults_fired = static_cast<int>(fired.size());
}

void check_deaths(const History& history, const Plan& plan, Verdict& verdict) {
  Reasons reasons;
  for (const auto& event : history.events) {
    if (const auto* fired = std::get_if<FaultFired>(&event.body)) reasons.take(plan, *fired);
    const auto* ended = std::get_if<Ended>(&event.body);
    if (ended == nullptr) continue;
    const bool asked = asked_for(*ended, reasons, event.actor);
    if (event.process != 0) {
      if (!asked && ended->how == Ended::How::signalled) verdict.notes.push_back(death(event, *ended));
      continue;
    }
    if (!asked) verdict.inconclusive.push_back(death(event, *ended));
    reasons.terminated.erase(event.actor);
    reasons.hit.erase(event.actor);
  }
}

std::string kept_away(const History& history, const Plan& plan) {
  std::map<std::string, std::string> gone;  // actor -> its kind
  std::map<std::string, int> there;         // kind -> how many
  for (const auto& event : history.events) {
    const std::string kind = event.actor.substr(0, event.actor.rfind('-'));
    if (event.process != 0 || event.actor.empty()) continue;
    if (std::holds_alternative<Started>(event.body)) {
      ++there[kind];
      gone.erase(event.actor);
    } else if (const auto* ended = std::get_if<Ended>(&event.body)) {
      --there[kind];
      if (ended->how == Ended::How::killed_by_plan) gone[event.actor] = kind;
    }
  }
  std::vector<std::string> names;
  for (const auto& [actor, kind] : gone) {
    const bool by_plan = std::any_of(plan.faults.begin(), plan.faults.end(), [&actor = actor](const Fault& fault) {
      return fault.kind == FaultKind::restart && (fault.target == actor || fault.target == all_actors);
    });
    if (by_plan && there[kind] <= 0) names.push_back(actor);
  }
  return names.empty() ? "" : fmt::format("{}, whom the plan killed and did not let come back", listed(names));
}

void check_end(const History& history, Verdict& verdict) {
  const Event* last = history.events.empty() ? nullptr : &history.events.back();
  const auto* finished = last == nullptr ? nullptr : std::get_if<Finished>(&last->body);
  if (finished == nullptr) {
    verdict.inconclusive.push_back("the history is cut off: its last event does not say how the execution ended");
    return;
  }
  if (is_complete(*finished)) return;
  verdict.inconclusive.push_back(fmt::format("the execution ended at {}: {}{}{}", in_seconds(last->at),
                                             finished->reason, finished->detail.empty() ? "" : ": ", finished->detail));
}

}  // namespace halfsent
