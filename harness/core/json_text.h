// JSON values on one line each, whose strings may hold any bytes (see text.h). Pure; thread-compatible.
#pragma once

#include <boost/json/value.hpp>
#include <string>
#include <string_view>

#include "harness/core/error.h"

namespace halfsent {

// No white space; members in their order; safe on a terminal.
std::string json_text(const boost::json::value& value);

// Errors: ExitCode::usage, without a position.
Result<boost::json::value> parse_json_text(std::string_view text);

}  // namespace halfsent
