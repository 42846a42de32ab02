#include "harness/world/remote_time.h"

#include <sys/time.h>

#include <limits>

#include "harness/intercept/remote_memory.h"

namespace halfsent {
namespace {

constexpr Nanoseconds forever = Nanoseconds::max() / 4;

bool is_wall_clock(clockid_t clock) {
  return clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE || clock == CLOCK_TAI;
}

}  // namespace

Nanoseconds from_timespec(const timespec& time) {
  constexpr std::int64_t limit = std::chrono::duration_cast<std::chrono::seconds>(forever).count();
  if (time.tv_sec >= limit) return forever;
  return std::chrono::seconds{time.tv_sec} + Nanoseconds{time.tv_nsec};
}

std::optional<Nanoseconds> read_timespec(pid_t tid, std::uint64_t address) {
  const auto time = read_remote_value<timespec>(tid, address);
  if (!time || time->tv_sec < 0 || time->tv_nsec < 0 || time->tv_nsec >= 1'000'000'000) return std::nullopt;
  return from_timespec(*time);
}

std::optional<Nanoseconds> read_timeval(pid_t tid, std::uint64_t address) {
  const auto time = read_remote_value<timeval>(tid, address);
  if (!time || time->tv_sec < 0 || time->tv_usec < 0) return std::nullopt;
  return from_timespec(
      {.tv_sec = time->tv_sec + time->tv_usec / 1'000'000, .tv_nsec = time->tv_usec % 1'000'000 * 1000});
}

std::optional<Nanoseconds> read_clock(clockid_t clock, const VirtualClock& world, Nanoseconds skew) {
  if (is_wall_clock(clock)) return world.since_epoch() + skew;
  switch (clock) {
    case CLOCK_MONOTONIC:
    case CLOCK_MONOTONIC_RAW:
    case CLOCK_MONOTONIC_COARSE:
    case CLOCK_BOOTTIME:
      return world.since_boot();
    default:
      return world.now();  // CPU clocks: what the world has spent is all that repeats
  }
}

Nanoseconds deadline_on(clockid_t clock, Nanoseconds when, const VirtualClock& world, Nanoseconds skew) {
  if (is_wall_clock(clock)) return when - world.start_since_epoch() - skew;
  return when - VirtualClock::uptime_at_start;
}

Nanoseconds after(Nanoseconds now, Nanoseconds wait) { return wait >= forever ? forever : now + wait; }

}  // namespace halfsent
