// Runs a piece of a check in a child process, where it may leave traces or be denied system calls.
#pragma once

#include <functional>

#include "harness/process/doctor.h"

namespace halfsent {

// Forks, runs `body` in the child and brings its result back. A child that dies instead is a failed check that says
// how.
CheckResult run_in_child(const char* name, const std::function<CheckResult()>& body);

}  // namespace halfsent
