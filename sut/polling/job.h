// What the parts of the reference system share.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace reference {

// Seconds since the epoch, by the ledger's clock.
using Seconds = std::int64_t;

// What the product chooses when nobody can know whether a send was accepted.
enum class OnDoubt {
  retry,  // again with the same key: harmless where the downstream honours keys
  flag,   // never again: the row waits in needs_review for a person
};

// The numbers that a deployment states. Shares of the lease: a send must fit into what is left of it.
struct Terms {
  OnDoubt on_doubt = OnDoubt::flag;
  Seconds lease_s = 60;
  Seconds poll_s = 5;
  Seconds send_timeout_s = 10;
  Seconds retry_delay_s = 15;
  Seconds render_s = 4;   // how long it takes to render a digest
  Seconds archive_s = 0;  // how long it takes to keep a copy of what was sent, before the job is marked
  int max_attempts = 5;
  int sweep_page = 100;  // how many expired leases one look takes
};

struct Job {
  std::string digest_key;
  std::string customer_id;
  std::int64_t token = 0;
  int attempt = 0;
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

}  // namespace reference
