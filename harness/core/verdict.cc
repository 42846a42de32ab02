#include "harness/core/verdict.h"

#include <algorithm>

namespace halfsent {

std::string_view to_string(VerdictKind kind) {
  switch (kind) {
    case VerdictKind::once:
      return "once";
    case VerdictKind::flagged:
      return "flagged";
    case VerdictKind::duplicate:
      return "duplicate";
    case VerdictKind::lost:
      return "lost";
    case VerdictKind::stuck:
      return "stuck";
    case VerdictKind::phantom:
      return "phantom";
    case VerdictKind::wrong_key:
      return "wrong_key";
    case VerdictKind::hidden:
      return "hidden";
    case VerdictKind::misflag:
      return "misflag";
    case VerdictKind::ghost:
      return "ghost";
  }
  return "unknown";
}

bool is_violated(const Verdict& verdict) {
  return !verdict.broken.empty() || std::any_of(verdict.keys.begin(), verdict.keys.end(),
                                                [](const KeyVerdict& key) { return is_violation(key.kind); });
}

}  // namespace halfsent
