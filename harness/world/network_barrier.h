// Makes sure that everything sent over the world's loopback has arrived.
//
// Packets on loopback are delivered by a softirq of the CPU that sent them, in order. The world and the harness share
// one CPU, so a datagram of ours that has arrived proves that every packet before it has. Threads: one, pinned to the
// world's CPU.
#pragma once

#include "harness/core/error.h"
#include "harness/process/unique_fd.h"

namespace halfsent {

class NetworkBarrier {
 public:
  // Call inside the world's network namespace.
  static Result<NetworkBarrier> create();

  // Blocks until our own datagram has come round (some microseconds).
  void pass();

 private:
  explicit NetworkBarrier(UniqueFd socket) : socket_(std::move(socket)) {}
  UniqueFd socket_;
};

}  // namespace halfsent
