// Faults of the plan: what they do when their event comes.
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

#include "harness/world/engine.h"

namespace halfsent {
void Engine::apply_standing_faults() {
  for (const ResolvedFault& fault : setup_.faults)
    if (fault.at == no_seq) strike(fault, no_seq);
}

void Engine::strike(Seq seq) {
  for (const ResolvedFault& fault : setup_.faults)
    if (fault.at == seq && !error_) strike(fault, seq);
}

void Engine::strike(const ResolvedFault& resolved, Seq seq) {
  const Fault& fault = resolved.fault;
  const FaultFired fired{.fault = resolved.index, .text = to_string(fault)};
  if (strikes_downstream(fault.kind)) {
    request_fault_ = &fault;
    record(nullptr, 0, 0, fired);
    return;
  }
  if (strikes_ledger(fault.kind)) {
    record(nullptr, 0, 0, fired);
    return apply_to_ledger(fault);
  }
  for (auto& actor : actors_) {
    if (actor->name != fault.target && fault.target != all_actors) continue;
    const std::vector<Process*> victims =
        fault.kind == FaultKind::kill ? victims_of(fault, *actor, seq) : std::vector<Process*>{};
    if (fault.kind == FaultKind::kill && victims.empty()) continue;
    if (fault.kind == FaultKind::io_error) {
      actor->io_error = &resolved;  // fires where it hits
      continue;
    }
    record(actor.get(), actor->incarnation, 0, fired);
    apply_to_actor(fault, *actor, victims);
  }
}

std::vector<Process*> Engine::victims_of(const Fault& fault, Actor& actor, Seq seq) const {
  const Event& at = history_.events[seq];
  std::vector<Process*> living;
  for (const auto& process : actor.processes)
    if (!process->dead) living.push_back(process.get());
  if (fault.scope == KillScope::tree) return living;
  const auto struck = std::find_if(living.begin(), living.end(), [&](const Process* process) {
    return process->incarnation == at.incarnation && process->index == at.process;
  });
  if (fault.scope == KillScope::process)
    return struck == living.end() ? std::vector<Process*>{} : std::vector<Process*>{*struck};
  if (fault.scope == KillScope::root) {
    const auto root = std::find_if(living.begin(), living.end(), [&](const Process* process) {
      return process->incarnation == at.incarnation && process->is_root;
    });
    return root == living.end() ? std::vector<Process*>{} : std::vector<Process*>{*root};
  }
  // child: the process itself when it is one, else the youngest child.
  if (struck != living.end() && !(*struck)->is_root) return {*struck};
  const auto child =
      std::find_if(living.rbegin(), living.rend(), [](const Process* process) { return !process->is_root; });
  return child == living.rend() ? std::vector<Process*>{} : std::vector<Process*>{*child};
}

void Engine::apply_to_actor(const Fault& fault, Actor& actor, const std::vector<Process*>& victims) {
  switch (fault.kind) {
    case FaultKind::kill:
      for (Process* victim : victims) kill_process(*victim);
      wait_for_deaths();
      observe_deaths();
      return;
    case FaultKind::hold:
      actor.held_until = clock_.now() + fault.duration;
      disturbed_until(*actor.held_until);
      return;
    case FaultKind::switch_:
      actor.switched = true;
      return;
    case FaultKind::term:
      if (!is_alive(actor)) return;
      actor.root->killed_by_plan = true;  // what it does about it is its own affair; that it ends is ours
      (void)::syscall(SYS_pidfd_send_signal, actor.root->pidfd.get(), SIGTERM, nullptr, 0);
      signals_possible_ = true;
      return;
    case FaultKind::refuse:
      actor.refused = true;
      if (fault.duration.count() > 0) actor.refused_until = clock_.now() + fault.duration;
      disturbed_until(clock_.now() + fault.duration);
      return;
    case FaultKind::skew:
    case FaultKind::step:
      actor.skew += fault.duration;
      return;
    case FaultKind::restart:
      actor.restart_delay = fault.duration;
      actor.restart = fault.restart;
      return;
    default:
      return;
  }
}

}  // namespace halfsent
