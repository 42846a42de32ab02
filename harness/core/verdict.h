// What the invariants say about a history.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "harness/core/event.h"

namespace halfsent {

enum class VerdictKind { once, flagged, duplicate, lost, stuck, phantom, wrong_key, hidden, misflag, ghost };

std::string_view to_string(VerdictKind kind);
constexpr bool is_violation(VerdictKind kind) { return kind != VerdictKind::once && kind != VerdictKind::flagged; }

// The verdict on one key with the events that prove it, in order.
struct KeyVerdict {
  std::string key;
  VerdictKind kind = VerdictKind::once;
  std::string why = {};  // one sentence: "accepted twice: by worker-1 at 0.003 s and by worker-2 at 60.010 s"
  std::vector<Seq> evidence = {};
  // An effect whose worker died, or lost the response, between send and mark: carried, never rounded.
  bool indeterminate = false;
  friend bool operator==(const KeyVerdict&, const KeyVerdict&) = default;
};

// An invariant of the run that is violated.
struct RunViolation {
  std::string invariant = {};
  std::string key = {};  // the job it shows on; empty: it is no matter of one job
  std::string why = {};  // one sentence with who, when and which
  std::vector<Seq> evidence = {};
  friend bool operator==(const RunViolation&, const RunViolation&) = default;
};

// An invariant, or a part of one, that could not be judged, and why.
struct NotJudged {
  std::string invariant;
  std::string why;
  friend bool operator==(const NotJudged&, const NotJudged&) = default;
};

// The verdict on one execution. A pass must be earned: `not_earned` says what is missing, and then the
// execution is not a pass even when no key violates.
struct Verdict {
  std::vector<KeyVerdict> keys = {};      // ordered by key
  std::vector<RunViolation> broken = {};  // in the order of the table of invariants, then by key
  std::vector<std::string> judged = {};   // names of the invariants that were judged
  std::vector<NotJudged> not_judged = {};
  std::vector<std::string> not_reached = {};   // planned faults that never fired, as text (exit 4)
  std::vector<std::string> inconclusive = {};  // unplanned deaths, unsupported waits, deadlock, spins (exit 7)
  std::vector<std::string> notes = {};         // what a reader must know ("not repeatable: wrote outside the world")
  int accepted = 0;                            // new effects
  int deduplicated = 0;
  int faults_planned = 0;
  int faults_fired = 0;
  Nanoseconds last_terminal{0};  // when the last job became delivered or flagged: the detection delay

  friend bool operator==(const Verdict&, const Verdict&) = default;
};

// Some invariant is violated, of a job or of the run.
bool is_violated(const Verdict& verdict);

}  // namespace halfsent
