// What incarnations of one actor are forked from, instead of starting the program anew each time.
//
// The template has been let run up to the first call at which its run could begin to differ from another incarnation's:
// an effect, a wait, a look at the ledger, at the clock, at random numbers or at its own number. What it has done
// before is the same for every incarnation. These exceptions are shared, and a campaign checks a sample of its
// executions, and all that it finds, with programs that are executed:
// - AT_RANDOM, and random numbers asked for with GRND_NONBLOCK (seeds of hash tables);
// - what an interpreter reads, before it has read its script, of clocks and of its thread's number;
// - what an interpreter reads of the monotonic clock (Python does so whenever it takes a lock).
//
// Made by Engine::make_template, owned by the runner, used by engines one after another. Threads: one.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "harness/core/event.h"
#include "harness/process/process_template.h"
#include "harness/process/unique_fd.h"

namespace halfsent {

struct ActorTemplate {
  std::shared_ptr<const UniqueFd> listener;  // of its filter, which all incarnations share
  ProcessTemplate process;                   // borrows the listener
  std::string output;                        // what it has written
  Nanoseconds clock_cost{0};                 // of the calls that it has made
  std::uint64_t random_calls = 0;
  int calls_in_turn = 0;
  // Names of the world that it has looked at, and folders among them: an incarnation that comes after one of them has
  // changed is started anew.
  std::set<std::string> looked_at;
};

using ActorTemplates = std::map<std::string, ActorTemplate>;  // by actor

}  // namespace halfsent
