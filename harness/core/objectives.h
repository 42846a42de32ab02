// What a scenario demands of the numbers of an execution: recovery objectives, and what a drill must end with.
//
// Plain values; whatever is not stated is not judged.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/core/event.h"

namespace halfsent {

// How late recovery may be. harness/contract/operations.h defines what is measured.
struct Objectives {
  std::optional<Nanoseconds> longest_delay = {};  // from eligible to accepted (or flagged)
  std::optional<Nanoseconds> longest_block = {};  // by an abandoned lease
  std::optional<Nanoseconds> pending_target =
      {};  // a job that is open for longer is "past the target"; counted, not judged
  friend bool operator==(const Objectives&, const Objectives&) = default;
};

// What must be true in the end. Counts are of jobs but where it says otherwise.
struct Expectations {
  std::optional<std::int64_t> jobs = {};
  std::optional<std::int64_t> delivered = {};
  std::optional<std::int64_t> flagged = {};
  std::optional<std::int64_t> effects = {};          // requests that the downstream accepted as new
  std::optional<std::int64_t> recognised = {};       // requests whose key it knew
  std::optional<std::int64_t> expired_leases = {};   // leases
  std::optional<std::int64_t> early_takeovers = {};  // leases taken from their holder before they ran out
  std::optional<std::int64_t> other_keys = {};       // requests that carried another key than their job's, or none
  std::optional<Nanoseconds> oldest_pending = {};
  std::map<std::string, std::int64_t> attempts = {};  // by key
  friend bool operator==(const Expectations&, const Expectations&) = default;
};

}  // namespace halfsent
