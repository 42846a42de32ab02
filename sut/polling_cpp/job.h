// What the ledger and the sender of the polling worker share.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace polling {

// Seconds since the epoch, by this process's clock.
using Seconds = std::int64_t;

inline constexpr Seconds lease_s = 60;
inline constexpr Seconds poll_s = 5;
inline constexpr Seconds send_timeout_s = 10;
inline constexpr Seconds retry_delay_s = 15;
inline constexpr int max_attempts = 5;

// What the product chooses when nobody can know whether a send was accepted.
enum class OnDoubt {
  retry,  // again with the same key: harmless where the downstream honours keys
  flag,   // never again: the row waits in needs_review for a person
};

struct Job {
  std::string digest_key;
  std::string body;  // JSON, as it is sent
  std::int64_t token = 0;
  Seconds lease_until = 0;
  std::optional<Seconds> sending_before;  // the intent of an earlier attempt whose outcome is unknown
};

enum class Outcome { accepted, definite_no, doubt };

struct Answer {
  Outcome outcome = Outcome::doubt;
  std::string reason;
};

constexpr const char* name_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::accepted:
      return "accepted";
    case Outcome::definite_no:
      return "definite no";
    case Outcome::doubt:
      return "doubt";
  }
  return "";
}

}  // namespace polling
