// The seccomp filter that stops every system call of the table, as BPF ready to install in a child.
#pragma once

#include <linux/filter.h>

#include <vector>

#include "harness/core/error.h"

namespace halfsent {

// Built with libseccomp in the parent: the child between clone and exec must not allocate.
// `exit_that_passes`: exit_group with this argument is not stopped (a start that fails leaves while nobody can answer).
Result<std::vector<sock_filter>> build_filter(unsigned exit_that_passes);

}  // namespace halfsent
