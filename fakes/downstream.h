// The fake downstream: a real HTTP/1.1 server on loopback that can accept and then lose the answer.
//
// Mechanism only: when to accept, and how to answer, is decided by the caller (the execution's plan). All
// sockets are non-blocking and nothing here waits: the caller calls pump() when every worker is quiet, so
// that what happened is the same in every run. Time is passed in and is virtual.
//
// Threads: one. Ownership: takes over the listening descriptor and owns every connection.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/core/error.h"
#include "harness/core/event.h"
#include "harness/scenario/scenario.h"

namespace halfsent {

using RequestId = std::uint64_t;  // 1, 2, 3 ... over the execution

// A request that has been received completely.
struct Arrival {
  RequestId id = 0;
  std::uint64_t connection = 0;  // 1, 2, 3 ... in accept order
  std::uint16_t peer_port = 0;   // the worker's end, to tell whose request it is
  std::string key;               // empty: none
  std::string job;               // the job it is for if config.job tells, else empty
  std::string method;
  std::string path;                     // the request target as sent, with its query
  std::string body_digest;              // xxh64 of the body, 16 hex digits
  std::size_t index_on_connection = 0;  // from 0: keep-alive and pipelined requests count up
};

// What came in and is no request: answered with 400/413/431 and closed.
struct BadInput {
  std::uint64_t connection = 0;
  std::uint16_t peer_port = 0;
  int status = 400;
  std::string why;
};

enum class AnswerMode {
  full,   // a complete response
  half,   // complete headers with Content-Length, half of the body, then close
  drop,   // close without a byte
  reset,  // RST without a byte
};

struct Answer {
  AnswerMode mode = AnswerMode::full;
  int status = 200;
};

class Downstream {
 public:
  // `listening`: a listening, non-blocking TCP socket; owned from here on.
  Downstream(DownstreamConfig config, int listening);
  ~Downstream();
  Downstream(const Downstream&) = delete;
  Downstream& operator=(const Downstream&) = delete;

  // Creates the listening socket on 127.0.0.1:port in the calling thread's network namespace.
  // Errors: ExitCode::harness_fault, with the port and the mend when it is taken.
  static Result<int> listen(std::uint16_t port);

  // Accepts, reads and parses all that is there, writes what could not be written before. Never blocks.
  // `progress` of the result is true when any byte or connection moved: call again until it is false.
  // A connection's next request is parsed only when the one before it has been answered (pipelining).
  // When a connection was closed by its client, its peer port is in `closed`: once for each connection, also for one
  // that we have closed before, but not after a reset. A client that has closed its sending side only looks the same;
  // what it sent completely still arrives, and it gets its answers.
  struct Pumped {
    bool progress = false;
    std::vector<Arrival> arrivals;  // in order of connection, then of request
    std::vector<BadInput> bad;
    std::vector<std::uint16_t> closed;
  };
  Pumped pump();

  // True while a connection has sent part of a request only (used to wait for bodies that exceed a socket buffer).
  [[nodiscard]] bool has_partial_request() const;

  // True while bytes of an answer are not written yet.
  [[nodiscard]] bool has_unwritten() const;

  // The effect. `deduplicated` when the key is honoured and was accepted within the dedupe window before `now`;
  // otherwise a new effect is recorded (an empty key always is a new effect). The window runs from the effect, repeats
  // do not make it longer, and at its very end the key is forgotten. Within config.key_lag after the effect the key is
  // not known yet. REQUIRES: `id` arrived and was not accepted.
  struct Acceptance {
    bool deduplicated = false;
  };
  Acceptance accept(RequestId id, Nanoseconds now);

  // Answers. REQUIRES: not answered before (std::logic_error otherwise). Does nothing when the client has gone. After
  // drop, reset and half the connection is closed; otherwise it stays open if the client asked for that (HTTP/1.1
  // keep-alive rules). Except by reset, closing sends FIN after what is queued; the descriptor is kept, and what comes
  // is thrown away, until the client closes too, so that the client never sees a reset in place of the end.
  void answer(RequestId id, const Answer& how);

  // Descriptors to poll for reading while workers run (a large body needs us to read); the listener among them.
  [[nodiscard]] std::vector<int> descriptors() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace halfsent
