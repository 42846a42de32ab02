// The columns of the sweep: which fault strikes where.
#include <array>

#include "harness/explore/strategy.h"

namespace halfsent {
namespace {

using enum SweepWhere;

template <FaultKind kind>
std::vector<Fault> just(const SweepTarget& target) {
  Fault fault{.kind = kind, .target = target.name, .at = target.at};
  if (info(kind).needs_duration) fault.duration = target.past_lease;
  return {fault};
}

template <KillScope scope>
std::vector<Fault> kill_only(const SweepTarget& target) {
  return {{.kind = FaultKind::kill, .target = target.name, .at = target.at, .scope = scope}};
}

template <int status>
std::vector<Fault> answer(const SweepTarget& target) {
  return {{.kind = FaultKind::status, .target = target.name, .at = target.at, .status = status}};
}

template <IoError error>
std::vector<Fault> fails(const SweepTarget& target) {
  return {{.kind = FaultKind::io_error, .target = target.name, .at = target.at, .io_error = error}};
}

// Long enough for most to give up, and not for their leases to run out.
template <FaultKind kind>
std::vector<Fault> within_lease(const SweepTarget& target) {
  return {{.kind = kind, .target = target.name, .at = target.at, .duration = target.within_lease}};
}

std::vector<Fault> fail_over(const SweepTarget& target) {
  return {{.kind = FaultKind::failover, .target = target.name, .at = target.at, .lost = target.failover_loses}};
}

// A fault that lasts, or a clock that is off, by the lease and a little more. `sign`: which way.
template <FaultKind kind, int sign = 1>
std::vector<Fault> past_lease(const SweepTarget& target) {
  return {{.kind = kind, .target = target.name, .at = target.at, .duration = sign * target.past_lease}};
}

// Who is killed there does not come back at once, which would heal what is stuck without it.
template <RestartMode mode>
std::vector<Fault> kill_then(const SweepTarget& target) {
  Fault restart{.kind = FaultKind::restart, .target = target.name, .restart = mode};
  if (mode == RestartMode::after) restart.duration = target.past_lease;
  return {{.kind = FaultKind::kill, .target = target.name, .at = target.at}, restart};
}

// A clock that is off shows only where somebody else looks at the ledger while the job is at work. Not by the whole
// lease: then the others need not wait for the holder to be slow, and it may lose the job before it comes to the stop.
std::vector<Fault> slow_and_behind(const SweepTarget& target) {
  return {{.kind = FaultKind::skew, .target = target.name, .at = std::nullopt, .duration = -target.within_lease},
          {.kind = FaultKind::hold, .target = target.name, .at = target.at, .duration = target.within_lease * 3 / 2}};
}

// A downstream that accepts and then says no is a broken one, but for 5xx, which says nothing: so 503 is what it
// answers; 301 it says before. An actor that never comes back must leave a peer: else nobody is there who could be
// blamed for what is not done. With a single death `while_peer_lives` is `never`; it differs where all die at once and
// one comes back.
constexpr std::array columns = {
    SweepColumn{FaultKind::kill, "kill", every_stop, false, just<FaultKind::kill>},
    SweepColumn{FaultKind::hold, "hold", every_stop, false, just<FaultKind::hold>},
    SweepColumn{FaultKind::term, "term", every_stop, false, just<FaultKind::term>},
    SweepColumn{FaultKind::kill, "kill process", several_living, false, kill_only<KillScope::process>},
    SweepColumn{FaultKind::kill, "kill child", root_with_child, false, kill_only<KillScope::child>},
    SweepColumn{FaultKind::kill, "kill all", uncertain, true, just<FaultKind::kill>},
    SweepColumn{FaultKind::restart, "kill, late back", named, false, kill_then<RestartMode::after>},
    SweepColumn{FaultKind::restart, "kill, never back", named_with_peer, false, kill_then<RestartMode::never>},
    SweepColumn{FaultKind::restart, "kill all, one back", named_with_peer, true,
                kill_then<RestartMode::while_peer_lives>},
    SweepColumn{FaultKind::switch_, "switch", every_stop_beside, false, just<FaultKind::switch_>},
    SweepColumn{FaultKind::busy, "busy", named, false, within_lease<FaultKind::busy>},
    SweepColumn{FaultKind::io_error, "EIO", ledger_change, false, fails<IoError::eio>},
    SweepColumn{FaultKind::io_error, "ENOSPC", ledger_write, false, fails<IoError::enospc>},
    SweepColumn{FaultKind::read_only, "read only", named, false, within_lease<FaultKind::read_only>},
    SweepColumn{FaultKind::failover, "failover", named, false, fail_over},
    SweepColumn{FaultKind::step, "step +", at_work, false, past_lease<FaultKind::step>},
    SweepColumn{FaultKind::step, "step -", at_work, false, past_lease<FaultKind::step, -1>},
    SweepColumn{FaultKind::skew, "hold, skew -", at_work_beside, false, slow_and_behind},
    SweepColumn{FaultKind::refuse, "refuse", connecting, false, past_lease<FaultKind::refuse>},
    SweepColumn{FaultKind::drop, "drop", downstream, false, just<FaultKind::drop>},
    SweepColumn{FaultKind::reset, "reset", downstream, false, just<FaultKind::reset>},
    SweepColumn{FaultKind::stall, "stall", downstream, false, just<FaultKind::stall>},
    SweepColumn{FaultKind::status, "status 503", downstream, false, answer<503>},
    SweepColumn{FaultKind::status, "status 301", downstream_decides, false, answer<301>},
    SweepColumn{FaultKind::half, "half", downstream, false, just<FaultKind::half>},
    SweepColumn{FaultKind::late, "late", downstream, false, just<FaultKind::late>},
    SweepColumn{FaultKind::skew, "skew +", start, false, past_lease<FaultKind::skew>},
    SweepColumn{FaultKind::skew, "skew -", start, false, past_lease<FaultKind::skew, -1>},
};

}  // namespace

std::span<const SweepColumn> sweep_columns() { return columns; }

}  // namespace halfsent
