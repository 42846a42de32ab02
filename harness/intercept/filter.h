// The seccomp filter that stops every system call of the table, as BPF ready to install in a child.
#pragma once

#include <linux/filter.h>

#include <vector>

#include "harness/core/error.h"

namespace halfsent {

// Built with libseccomp in the parent: the child between clone and exec must not allocate.
Result<std::vector<sock_filter>> build_filter();

}  // namespace halfsent
