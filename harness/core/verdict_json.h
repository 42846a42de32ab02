// Verdicts and errors as JSON, and back. Pure; thread-compatible.
#pragma once

#include <boost/json/value.hpp>

#include "harness/core/error.h"
#include "harness/core/verdict.h"

namespace halfsent {

// Members that say nothing are left out.
boost::json::object to_json(const Verdict& verdict);
boost::json::object to_json(const Error& error);

// Throws std::exception where a member is missing or of another kind: for text of our own.
Verdict verdict_from_json(const boost::json::object& object);
Error error_from_json(const boost::json::object& object);

}  // namespace halfsent
