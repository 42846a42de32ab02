// The bytes that the downstream sends. No Date and no other field that differs from day to day.
#pragma once

#include <string>

#include "fakes/downstream.h"

namespace halfsent {

struct ResponseContext {
  bool head = false;       // the request was HEAD: fields as for GET, no body
  bool http10 = false;     // keeping alive must be said
  bool keep_alive = true;  // false: "Connection: close"
};

// REQUIRES: mode is full or half. half: all fields, then the first half of the body. What has no body (HEAD, 1xx, 204,
// 304) cannot be cut and is complete: a cut inside the fields would pass for a whole answer with some clients.
std::string render_response(const Answer& answer, const ResponseContext& context);

}  // namespace halfsent
