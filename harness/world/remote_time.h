// Times as system calls carry them, to and from virtual time. Pure but for reads of a stopped thread's memory.
#pragma once

#include <sys/types.h>
#include <time.h>

#include <cstdint>
#include <optional>

#include "harness/core/event.h"
#include "harness/world/virtual_clock.h"

namespace halfsent {

inline timespec to_timespec(Nanoseconds time) {
  constexpr std::int64_t billion = 1'000'000'000;
  return {.tv_sec = time.count() / billion, .tv_nsec = time.count() % billion};
}

// Saturates: a worker may well ask for a sleep of INT64_MAX seconds.
Nanoseconds from_timespec(const timespec& time);

// nullopt: the address cannot be read, or the value is no valid time.
std::optional<Nanoseconds> read_timespec(pid_t tid, std::uint64_t address);
std::optional<Nanoseconds> read_timeval(pid_t tid, std::uint64_t address);

// What a clock shows; nullopt for a clock that we do not know. `skew` moves wall clocks only.
std::optional<Nanoseconds> read_clock(clockid_t clock, const VirtualClock& world, Nanoseconds skew);

// The virtual time since start at which `clock` shows `when`.
Nanoseconds deadline_on(clockid_t clock, Nanoseconds when, const VirtualClock& world, Nanoseconds skew);

// now + wait, without overflow.
Nanoseconds after(Nanoseconds now, Nanoseconds wait);

}  // namespace halfsent
