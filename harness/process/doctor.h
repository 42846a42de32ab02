// Checks whether this machine lets the harness do its work.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace halfsent {

enum class CheckState { ok, warn, fail };

struct CheckResult {
  std::string name;
  CheckState state = CheckState::ok;
  std::string found;  // what was seen: a version, an errno
  std::string mend;   // what to do about it; empty when ok
};

// A check really does what the harness will do (in a child process where it would leave traces) and cleans up after
// itself.
struct Check {
  const char* name;
  CheckResult (*run)();
};

// In the order of printing. No state, no output. Call on the main thread of a single-threaded process.
std::span<const Check> doctor_checks();

std::vector<CheckResult> run_doctor();

// The kernel check on a release string as uname gives it ("6.1.0-18-amd64").
CheckResult check_kernel_release(std::string_view release);

// nullptr if there is no check of that name.
const Check* find_check(std::string_view name);

}  // namespace halfsent
