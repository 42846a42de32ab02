// The operations view for machines: series over virtual time and the measured maxima. Pure.
#pragma once

#include <string>

#include "harness/contract/operations.h"

namespace halfsent {

// One JSON object, version 1. Times are nanoseconds of virtual time since the start; -1: nothing waits. A point of
// "series" holds until the next one.
std::string operations_json(const Operations& seen);

}  // namespace halfsent
