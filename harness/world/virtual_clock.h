// The world's clock. It moves when the controller says so and at no other time.
// Thread-compatible. All times are nanoseconds since the world's start unless the name says otherwise.
#pragma once

#include <algorithm>

#include "harness/core/event.h"

namespace halfsent {

class VirtualClock {
 public:
  // What a read of a clock costs, so that code that spins on it makes progress.
  static constexpr Nanoseconds read_cost = std::chrono::microseconds{1};
  // What a released step costs: without it a worker in a busy handler starves behind one that can always run.
  static constexpr Nanoseconds step_cost = std::chrono::microseconds{100};
  // The machine of the world "booted" so long before its start.
  static constexpr Nanoseconds uptime_at_start = std::chrono::hours{1};

  explicit VirtualClock(Nanoseconds start_since_epoch) : start_since_epoch_(start_since_epoch) {}

  [[nodiscard]] Nanoseconds now() const { return now_; }
  void advance(Nanoseconds by) { now_ += by; }
  void advance_to(Nanoseconds when) { now_ = std::max(now_, when); }

  [[nodiscard]] Nanoseconds start_since_epoch() const { return start_since_epoch_; }
  [[nodiscard]] Nanoseconds since_epoch() const { return start_since_epoch_ + now_; }
  [[nodiscard]] Nanoseconds since_boot() const { return uptime_at_start + now_; }

 private:
  Nanoseconds start_since_epoch_;
  Nanoseconds now_{0};
};

}  // namespace halfsent
