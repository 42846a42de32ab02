// The words of a verdict: one clear sentence with actor, incarnation and virtual time.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "harness/core/history.h"

namespace halfsent {

// "0.004 s": virtual time since the world's start, cut (not rounded) to milliseconds.
std::string in_seconds(Nanoseconds at);

// "worker-1", from the second life on "worker-1 (incarnation 2)", "the world" where the event has no actor.
std::string who(const Event& event);

// "worker-1 at 0.004 s"
std::string who_and_when(const Event& event);

// "once", "twice", "3 times"
std::string times(std::size_t count);

// "a", "a and b", "a, b and c"; beyond `limit` "a, b and 5 more".
std::string listed(const std::vector<std::string>& items, std::size_t limit = 4);

// What happened to the row last: "claimed by worker-1 at 0.002 s", "row removed by worker-1 at 0.003 s".
// REQUIRES: the event is a LedgerChanged.
std::string row_change(const Event& event);

}  // namespace halfsent
