// One connection of the downstream: a non-blocking socket, what is read from it and what is still to be written.
//
// Closing is graceful unless reset() is called: what is queued is written, then FIN is sent, and input is read and
// thrown away until the client has closed too. A close() with unread input would send RST, which can destroy what the
// client has not read yet and would make a clean end look like a crash.
//
// Threads: one. Ownership: owns the descriptor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "fakes/downstream.h"
#include "fakes/request_reader.h"

namespace halfsent {

class Connection {
 public:
  Connection(int descriptor, std::uint64_t id, std::uint16_t peer_port, const DownstreamConfig& config);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  [[nodiscard]] std::uint64_t id() const { return id_; }
  [[nodiscard]] std::uint16_t peer_port() const { return peer_port_; }

  struct Step {
    bool moved = false;
    bool closed_by_client = false;           // seen now
    std::optional<ReceivedRequest> request;  // at most one: the next only after respond() or end()
    std::optional<BadRequest> bad;           // already answered, the connection is closing
  };
  // Reads and writes what is possible, a bounded amount.
  Step step();

  // Answer to the request that step() gave. REQUIRES: there is one.
  void respond(const Answer& answer);
  // Closes without an answer.
  void end();
  void reset();

  // Both sides are closed: to be destroyed.
  [[nodiscard]] bool finished() const { return descriptor_ < 0; }
  [[nodiscard]] bool has_partial_request() const;
  [[nodiscard]] bool has_unwritten() const { return !output_.empty(); }

  // The descriptor if more input is wanted, else -1.
  [[nodiscard]] int wants_input() const;

 private:
  bool receive(Step& step);
  void input_ended(Step& step);
  void parse(Step& step);
  bool flush();
  void output_failed();
  bool settle();
  void close_now();
  [[nodiscard]] bool reads_ahead_enough() const;

  int descriptor_;
  std::uint64_t id_;
  std::uint16_t peer_port_;
  RequestReader reader_;
  std::string output_;
  bool busy_ = false;           // a request waits for its answer
  bool head_ = false;           // of that request
  bool http10_ = false;         // of that request
  bool keep_alive_ = true;      // of that request
  bool input_ended_ = false;    // FIN or an error was read
  bool output_failed_ = false;  // nobody will read what we write
  bool closing_ = false;        // no further request is served, input is thrown away
  bool fin_sent_ = false;
};

}  // namespace halfsent
