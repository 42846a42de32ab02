#include "harness/core/plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <numeric>
#include <ranges>
#include <set>
#include <vector>

#include "harness/core/plan_words.h"
#include "harness/core/text.h"

namespace halfsent {
namespace {

using enum FaultInfo::Target;

// In the order of FaultKind.
constexpr std::array<FaultInfo, 18> faults = {{
    {FaultKind::kill, "kill", actor, true, false, "kill ACTOR|all [process|child] at BOUNDARY [KEY] [#n]",
     "SIGKILL at the boundary: the whole tree of processes, or only the process that is there, or only its children; "
     "with `all` every actor's tree, when any of them is there.",
     "kill worker-1 at after_accept 4187:2026-W33"},
    {FaultKind::hold, "hold", actor, true, true, "hold ACTOR at BOUNDARY [KEY] [#n] for D",
     "Stands still at the boundary for D; longer than the lease makes a stale holder.",
     "hold worker-2 at before_mark 4188:2026-W33 for 61s"},
    {FaultKind::term, "term", actor, true, false, "term ACTOR at BOUNDARY [KEY] [#n]",
     "SIGTERM at the boundary: a polite stop, as in a deployment.", "term worker-1 at after_claim 4187:2026-W33"},
    {FaultKind::switch_, "switch", actor, true, false, "switch ACTOR at BOUNDARY [KEY] [#n]",
     "A preemption: every other actor goes on until it waits for time to pass; then this one.",
     "switch worker-1 at before_claim 4187:2026-W33"},
    {FaultKind::drop, "drop", downstream, true, false, "drop downstream at BOUNDARY [KEY] [#n]",
     "The downstream closes the connection without a byte of an answer.",
     "drop downstream at after_accept 4187:2026-W33"},
    {FaultKind::reset, "reset", downstream, true, false, "reset downstream at BOUNDARY [KEY] [#n]",
     "The downstream resets the connection (RST) without a byte of an answer.",
     "reset downstream at before_accept 4187:2026-W33"},
    {FaultKind::stall, "stall", downstream, true, true, "stall downstream at BOUNDARY [KEY] [#n] for D",
     "The downstream does nothing at all for D, then goes on.",
     "stall downstream at before_accept 4187:2026-W33 for 30s"},
    {FaultKind::status, "status", downstream, true, false, "status downstream N at BOUNDARY [KEY] [#n]",
     "The downstream answers with status N, before or after it has accepted.",
     "status downstream 503 at after_accept 4187:2026-W33"},
    {FaultKind::half, "half", downstream, true, false, "half downstream at BOUNDARY [KEY] [#n]",
     "The downstream answers with complete headers and half of the body, then closes.",
     "half downstream at after_accept 4187:2026-W33"},
    {FaultKind::late, "late", downstream, true, true, "late downstream at BOUNDARY [KEY] [#n] for D",
     "The answer arrives D later than it would.", "late downstream at after_accept 4187:2026-W33 for 6s"},
    {FaultKind::refuse, "refuse", actor, false, false, "refuse ACTOR [at BOUNDARY [KEY] [#n]] [for D]",
     "The actor's connections to the downstream are refused, for D or for ever.",
     "refuse worker-1 at after_claim 4187:2026-W33 for 30s"},
    {FaultKind::busy, "busy", ledger, true, true, "busy ledger at BOUNDARY [KEY] [#n] for D",
     "A stranger takes the ledger's write lock as soon as it is free and keeps it for D: who wants to write finds it "
     "locked.",
     "busy ledger at before_mark 4187:2026-W33 for 30s"},
    {FaultKind::io_error, "io_error", actor, true, false, "io_error ACTOR EIO|ENOSPC at BOUNDARY [KEY] [#n]",
     "The actor's next write to the ledger's files (or sync, creation, removal) from there on fails, once.",
     "io_error worker-1 EIO at before_mark 4187:2026-W33"},
    {FaultKind::read_only, "read_only", ledger, true, true, "read_only ledger at BOUNDARY [KEY] [#n] for D",
     "The ledger's file system is read-only for D: writes fail with EROFS.",
     "read_only ledger at before_mark 4187:2026-W33 for 30s"},
    {FaultKind::failover, "failover", ledger, true, false, "failover ledger N at BOUNDARY [KEY] [#n]",
     "The ledger's machine is lost with everyone on it; they start again on a replica that lacks the last N committed "
     "transactions.",
     "failover ledger 1 at after_mark 4187:2026-W33"},
    {FaultKind::skew, "skew", actor, false, false, "skew ACTOR D [at BOUNDARY [KEY] [#n]]",
     "The actor's clock is off by D, which may be negative.", "skew worker-2 -90s"},
    {FaultKind::step, "step", actor, true, false, "step ACTOR D at BOUNDARY [KEY] [#n]",
     "The actor's clock jumps by D, which may be negative, when it reaches the boundary.",
     "step worker-1 2min at after_claim 4187:2026-W33"},
    {FaultKind::restart, "restart", actor, false, false,
     "restart ACTOR after D|never|while_peer_lives [at BOUNDARY [KEY] [#n]]",
     "When the actor comes back from a death: after D, never, or not while another of its kind is alive.",
     "restart worker-1 after 5min"},
}};
static_assert(std::ranges::all_of(std::views::iota(std::size_t{0}, faults.size()),
                                  [](std::size_t i) { return static_cast<std::size_t>(faults[i].kind) == i; }));

struct Unit {
  std::string_view name;
  std::uint64_t nanoseconds;
};
constexpr std::array<Unit, 6> units = {{{"h", 3'600'000'000'000},
                                        {"min", 60'000'000'000},
                                        {"s", 1'000'000'000},
                                        {"ms", 1'000'000},
                                        {"us", 1'000},
                                        {"ns", 1}}};

Error bad_duration(std::string_view text, std::string_view why) {
  return Error{.code = ExitCode::usage,
               .message = fmt::format("'{}' is not a duration: {}", shorten(text), why),
               .mend = "write a whole number and one of ns us ms s min h, as in 61s"};
}

// The part of a fault between its target and its anchor, with a space before it.
std::string value_text(const Fault& fault) {
  switch (fault.kind) {
    case FaultKind::kill:
      return fault.scope == KillScope::tree ? "" : fmt::format(" {}", kill_scope_names[static_cast<int>(fault.scope)]);
    case FaultKind::status:
      return fmt::format(" {}", fault.status);
    case FaultKind::io_error:
      return fmt::format(" {}", io_error_names[static_cast<int>(fault.io_error)]);
    case FaultKind::failover:
      return fmt::format(" {}", fault.lost);
    case FaultKind::skew:
    case FaultKind::step:
      return fmt::format(" {}", format_duration(fault.duration));
    case FaultKind::restart:
      if (fault.restart == RestartMode::after) return fmt::format(" after {}", format_duration(fault.duration));
      return fmt::format(" {}", restart_mode_names[static_cast<int>(fault.restart)]);
    default:
      return "";
  }
}

// Optimal string alignment: insert, delete, replace, or swap neighbours.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before_last(b.size() + 1);
  std::vector<std::size_t> last(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(last.begin(), last.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, replaced});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before_last[j - 2] + 1);
      }
    }
    std::swap(before_last, last);
    std::swap(last, row);
  }
  return last[b.size()];
}

}  // namespace

std::span<const FaultInfo> fault_table() { return faults; }

const FaultInfo& info(FaultKind kind) { return faults.at(static_cast<std::size_t>(kind)); }

std::vector<FaultKind> every_fault_kind() {
  std::vector<FaultKind> kinds;
  for (const FaultInfo& fault : faults) kinds.push_back(fault.kind);
  return kinds;
}

Result<std::vector<FaultKind>> parse_fault_kinds(std::string_view list) {
  if (list == "all") return every_fault_kind();
  std::vector<std::string> names;
  for (const FaultInfo& fault : faults) names.emplace_back(fault.name);
  std::set<FaultKind> kinds;
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    const std::string_view word = list.substr(begin, end - begin);
    const auto found = std::ranges::find(faults, word, &FaultInfo::name);
    if (found == faults.end()) {
      const std::string near = nearest(word, names);
      return Error{
          .code = ExitCode::usage,
          .message = fmt::format("'{}' is not a fault", shorten(word)),
          .mend = fmt::format("{}write `all`, or some of {} with commas between them",
                              near.empty() ? "" : fmt::format("did you mean '{}'? ", near), fmt::join(names, ", "))};
    }
    kinds.insert(found->kind);
    begin = end + 1;
  }
  return std::vector<FaultKind>(kinds.begin(), kinds.end());
}

std::string to_string(const Fault& fault) {
  std::string out = fmt::format("{}{} {}{}", fault.then ? "then " : "", info(fault.kind).name, quote_key(fault.target),
                                value_text(fault));
  if (fault.at) {
    out += fmt::format(" at {}", quote_key(fault.at->boundary));
    if (!fault.at->key.empty()) out += fmt::format(" {}", quote_key(fault.at->key));
    if (fault.at->occurrence != 1) out += fmt::format(" #{}", fault.at->occurrence);
  }
  if (info(fault.kind).needs_duration || (fault.kind == FaultKind::refuse && fault.duration.count() != 0)) {
    out += fmt::format(" for {}", format_duration(fault.duration));
  }
  return out;
}

std::string to_string(const Plan& plan) {
  std::string out = fmt::format("scenario {}; seed {}", quote_key(plan.scenario), plan.seed);
  for (const Fault& fault : plan.faults) out += fmt::format("; {}", to_string(fault));
  return out;
}

std::string format_duration(Nanoseconds duration) {
  if (duration.count() == 0) return "0s";
  const bool negative = duration.count() < 0;
  const auto bits = static_cast<std::uint64_t>(duration.count());
  const std::uint64_t magnitude = negative ? 0 - bits : bits;
  for (const Unit& unit : units) {
    if (magnitude % unit.nanoseconds == 0) {
      return fmt::format("{}{}{}", negative ? "-" : "", magnitude / unit.nanoseconds, unit.name);
    }
  }
  return {};  // not reached: 1 ns divides everything
}

Result<Nanoseconds> parse_duration(std::string_view text) {
  const bool negative = text.starts_with('-');
  const std::string_view unsigned_text = text.substr(negative ? 1 : 0);
  std::uint64_t number = 0;
  const char* const end_of_text = unsigned_text.data() + unsigned_text.size();
  const auto [end, error] = std::from_chars(unsigned_text.data(), end_of_text, number);
  if (error == std::errc::invalid_argument) return bad_duration(text, "it does not begin with a number");
  const std::string_view name(end, static_cast<std::size_t>(end_of_text - end));
  const auto unit = std::ranges::find(units, name, &Unit::name);
  if (unit == units.end()) {
    return bad_duration(text, name.empty() ? "it has no unit" : fmt::format("'{}' is not a unit", shorten(name)));
  }
  constexpr auto max = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  const std::uint64_t limit = negative ? max + 1 : max;
  if (error != std::errc{} || number > limit / unit->nanoseconds) {
    return bad_duration(text, "it is longer than 292 years");
  }
  const std::uint64_t magnitude = number * unit->nanoseconds;
  return Nanoseconds(static_cast<std::int64_t>(negative ? 0 - magnitude : magnitude));
}

std::string quote_key(std::string_view key) {
  if (!key.empty() && key != for_word && std::ranges::all_of(key, is_bare)) return std::string(key);
  std::string out;
  append_json_string(out, key);
  return out;
}

std::string nearest(std::string_view word, std::span<const std::string> candidates) {
  constexpr std::size_t longest_name = 64;  // what is longer is no slip of the pen
  std::string best;
  std::size_t best_distance = std::numeric_limits<std::size_t>::max();
  for (const std::string& candidate : candidates) {
    const std::size_t longer = std::max(word.size(), candidate.size());
    if (longer > longest_name) continue;
    const std::size_t distance = edit_distance(word, candidate);
    if (distance < best_distance && distance <= (longer + 2) / 3 && distance < longer) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

}  // namespace halfsent
