// Where a request carries its idempotency key, or the job it is for. Pure: a request in, text out.
//
// Threads: any. Errors: none; what cannot be found is empty, for the downstream serves any request.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "fakes/request_reader.h"
#include "harness/scenario/scenario.h"

namespace halfsent {

// The text that `source` finds in `request`, empty when there is none.
// header: the value of the first field of that name. json: the member at the dotted path through objects; a string is
// taken as it is, a number as the text it has in the body; other values, and a body that is not JSON, give none; of a
// repeated member the last counts. path: what stands in place of {key}, at least one byte and no '/', percent-decoded.
std::string find_key(const KeySource& source, const ReceivedRequest& request);

// The first text that is not empty, in the order of `sources`.
std::string find_first_key(const std::vector<KeySource>& sources, const ReceivedRequest& request);

// The path of a request target: without query and fragment, and for "http://host/p" without scheme and host.
std::string_view path_of_target(std::string_view target);

}  // namespace halfsent
