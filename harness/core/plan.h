// A plan: what the engineer pastes. Scenario, seed, and the deviations from the default policy.
//
//   scenario polling_python; seed 7; kill worker-1 at after_accept 4187:2026-W33; hold worker-2 at before_mark K for
//   61s
//
// [then] ACTION TARGET [VALUE] [at BOUNDARY [KEY] [#n]] [for D], in this order, joined by ';' or new lines;
// fault_table() has the syntax of each action. `scenario NAME` comes first, `seed N` is optional (default 1). A line
// whose first character (after white space) is '#' is a comment. Names and keys are bare [A-Za-z0-9:._-]+ or JSON
// strings (on one line; ';' and '#' in them are ordinary; bytes that are not UTF-8 are written as \udcXX); a key that
// is the word "for" is written in quotes. Durations: a whole number and one of ns us ms s min h. BOUNDARY is a name of
// boundary_table(), or at:NAME for a point that the worker announces itself. Pure: text in, values out.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/core/error.h"
#include "harness/core/event.h"

namespace halfsent {

enum class FaultKind {
  kill,
  hold,
  term,
  switch_,
  drop,
  reset,
  stall,
  status,
  half,
  late,
  refuse,
  busy,
  io_error,
  read_only,
  failover,
  skew,
  step,
  restart,
};

// Who of the actor's processes: all; the one that is at the boundary; that one unless it is the first, then the
// youngest other; the first alone, whose children go on as orphans.
enum class KillScope { tree, process, child, root };
enum class RestartMode { after, never, while_peer_lives };
enum class IoError { eio, enospc };

// As the target of a fault of actors: every actor, wherever any of them is at the boundary ("kill all" is the end of
// all of them at once, so that nobody is left who is connected to the ledger). No actor has this name: theirs end in
// "-N".
inline constexpr std::string_view all_actors = "all";

// Where a fault strikes: the n-th time (from 1) that `boundary` is passed for `key`.
// An empty key matches any key (and boundaries that have none).
struct Anchor {
  std::string boundary;
  std::string key = {};
  int occurrence = 1;
  friend bool operator==(const Anchor&, const Anchor&) = default;
};

struct Fault {
  FaultKind kind = FaultKind::kill;
  std::string target = {};  // an actor or all_actors; "downstream" and "ledger" for the faults of these
  std::optional<Anchor> at =
      {};                   // may be absent for refuse, skew, restart: they hold from the start (with `at`, from there)
  Nanoseconds duration{0};  // hold, stall, late: for D; skew, step: by D (may be negative); restart: after D;
                            // refuse: for D, 0 is for ever; busy, read_only: for D
  KillScope scope = KillScope::tree;         // kill
  int status = 0;                            // status N
  RestartMode restart = RestartMode::after;  // restart
  IoError io_error = IoError::eio;           // io_error
  int lost = 0;                              // failover: committed transactions that the new ledger lacks
  bool then =
      false;  // not before all that stand before it in the plan have struck, although the boundary may come earlier
  friend bool operator==(const Fault&, const Fault&) = default;
};

struct Plan {
  std::string scenario;
  std::uint64_t seed = 1;
  std::vector<Fault> faults;
  friend bool operator==(const Plan&, const Plan&) = default;
};

// The one table of faults: grammar, help and documentation come from here.
struct FaultInfo {
  FaultKind kind;
  std::string_view name;
  enum class Target { actor, downstream, ledger } target;
  bool needs_anchor;         // false: the anchor is optional
  bool needs_duration;       // "for D" must be there
  std::string_view syntax;   // "hold ACTOR at BOUNDARY [KEY] [#n] for D"
  std::string_view summary;  // one sentence
  std::string_view example;
};
std::span<const FaultInfo> fault_table();
const FaultInfo& info(FaultKind kind);
std::vector<FaultKind> every_fault_kind();  // in the order of the table
inline bool strikes_downstream(FaultKind kind) { return info(kind).target == FaultInfo::Target::downstream; }
inline bool strikes_ledger(FaultKind kind) { return info(kind).target == FaultInfo::Target::ledger; }

// Errors: ExitCode::usage, `line` and `column` (from 1, in characters) of the offending word, the nearest known word in
// `mend`. Whether the scenario and its actors exist is for the caller to check.
Result<Plan> parse_plan(std::string_view text);

// "kill,hold,drop" or "all", each kind once and in the order of the table. Errors: ExitCode::usage without a position,
// the nearest known name in `mend`.
Result<std::vector<FaultKind>> parse_fault_kinds(std::string_view list);

// One line, joined by "; ". parse_plan(to_string(p)) == p for every valid plan.
std::string to_string(const Plan& plan);
std::string to_string(const Fault& fault);

// "61s", "1500ms", "2h": the largest unit that divides it. "-5s" for negative ones.
std::string format_duration(Nanoseconds duration);
// Errors: ExitCode::usage without a position.
Result<Nanoseconds> parse_duration(std::string_view text);

// A key as a plan or story shows it: bare when it can be, else a JSON string (never a raw control byte).
std::string quote_key(std::string_view key);

// The candidate nearest to `word` by edit distance, or empty when nothing is near.
std::string nearest(std::string_view word, std::span<const std::string> candidates);

}  // namespace halfsent
