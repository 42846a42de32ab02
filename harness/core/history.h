// A history: everything that happened in one execution, in order, and its form on disk.
//
// JSON lines, one event a line, keys in a fixed order, integers only. The first line is a header:
//   {"halfsent_history":1,"scenario":"...","seed":7,"plan":"..."}
// Thread-compatible value types. No I/O here: text in, text out.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "harness/core/error.h"
#include "harness/core/event.h"

namespace halfsent {

struct History {
  std::string scenario;
  std::uint64_t seed = 0;
  std::string plan;  // as printed by to_string(Plan)
  std::vector<Event> events;

  friend bool operator==(const History&, const History&) = default;
};

// One event as a JSON line without the new line. Strings may hold any bytes: bytes that are not valid
// UTF-8 are written as "\udcXX" (Python's surrogateescape), so that reading gives the same bytes back.
std::string to_json_line(const Event& event);

std::string to_json_lines(const History& history);

// Errors: ExitCode::usage with the line number in `line`.
Result<History> history_from_json_lines(std::string_view text);

// Fingerprint of the events only (not of the header): 16 hex digits of xxh64 over their JSON lines.
std::string digest(const History& history);

// "worker-1", "worker-1/2" for the process with index 2 in its tree.
std::string actor_label(const Event& event);

std::string_view to_string(JobState state);

}  // namespace halfsent
