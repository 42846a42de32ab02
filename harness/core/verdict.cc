#include "harness/core/verdict.h"

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
  }
  return "unknown";
}

}  // namespace halfsent
