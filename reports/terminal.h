// Reports for a terminal: pure functions of values to text, always ending in a new line.
//
// Everything that comes from outside (keys, states, paths, names, output of workers) is shown through printable() of
// core/text.h: no control byte, no invalid UTF-8 and no change of direction reaches the terminal. The only escape
// sequences are our own colours.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/contract/operations.h"
#include "harness/core/boundary.h"
#include "harness/core/history.h"
#include "harness/core/plan.h"
#include "harness/core/verdict.h"

namespace halfsent {

struct Style {
  bool colour = false;
  int width = 100;  // tables and stories are cut to it, sentences and lines to paste are not; 0: no limit
};

// Who did what at which virtual time, for a reader who has not seen the code. Tells one job when `key` is not empty,
// else the first job that violates, else all jobs. Stops that changed nothing are left out; lines that prove the
// verdict begin with '>'.
std::string story(const History& history, const Verdict& verdict, const Style& style, std::string_view key = {});

// Verdict, key and why of each violated job, then the invariants of the run that are broken; what keeps the execution
// from being a pass; notes; the plan on one line; the line that replays it. Where nothing is wrong, the earned line
// instead of the violations.
std::string verdict_block(const Verdict& verdict, const Plan& plan, const Style& style);

// "held: 1 job once, 0 flagged; 1 effect, 1 repeat recognised; 1 of 1 faults fired; settled at 60.013 s"
// Says "not earned" and why where the verdict is neither a violation nor a pass.
std::string earned_line(const Verdict& verdict, const Style& style);

// What an operator watches, in the end and at most: states, attempts, expired leases, the oldest pending age, the
// longest delay and the longest block by an abandoned lease, each beside its objective.
std::string operations_block(const Operations& seen, const Objectives& objectives, const Style& style);
// "18 invariants; not pending_age (the ledger showed no due_at), ...": what was judged, and what could not be and why.
std::string judged_line(const Verdict& verdict);

// `halfsent replay 'PLAN'`, quoted for a POSIX shell.
std::string replay_line(const Plan& plan);

// One row a step: virtual time, actor, process, what it was (a system call at which it stops, a request, a change of a
// row), and the names of it as a boundary. Waits are no steps.
std::string windows_table(const History& history, std::span<const Boundary> boundaries, const Style& style);

// The last `max_lines` lines that a worker printed, indented under a heading.
std::string worker_output(std::string_view actor, int incarnation, std::string_view text, std::size_t max_lines,
                          const Style& style);

// In order of gravity: of several executions in one cell the first is shown.
enum class CellOutcome {
  duplicate,
  ghost,
  phantom,
  hidden,
  lost,
  wrong_key,
  misflag,
  stuck,
  broken,  // an invariant of the run, and no job's
  error,
  diverged,
  inconclusive,
  not_reached,
  flagged,
  ok
};
std::string_view to_string(CellOutcome outcome);

// What one verdict is in the matrix. A verdict on no job is not_reached.
CellOutcome cell_outcome(const Verdict& verdict);

struct SweepCellResult {
  std::optional<Boundary> boundary;  // none: from the start
  std::string column;
  CellOutcome outcome = CellOutcome::ok;
};

struct SweepSummary {
  std::vector<SweepCellResult> cells;
  int executions = 0;
  std::vector<std::string> columns;         // in the order in which they are shown
  std::vector<std::string> unused_columns;  // asked for, and no stop takes them
  int accepted = 0;
  int deduplicated = 0;
  int faults_planned = 0;
  int faults_fired = 0;
  int idle_left_out = 0;  // idle stops that the sweep left out
};

// The matrix windows x faults and its totals. A row is a boundary's name and key, over all actors and occurrences: "ok
// x12" is what came of 12 stops, "lost 1/12" the gravest of them and how many it was. "n/a" is not applicable. A matrix
// that is wider than the style is shown in parts, each with the windows to which it has something to say.
std::string sweep_summary(const SweepSummary& summary, const Style& style);

}  // namespace halfsent
