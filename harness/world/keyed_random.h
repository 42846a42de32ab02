// Randomness of the world: a stream is a function of (seed, actor, incarnation, process, call number), so that what one
// worker draws never changes what another one gets. Not for secrets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace halfsent {

struct RandomKey {
  std::uint64_t seed = 0;
  std::string_view actor;
  int incarnation = 0;
  int process = 0;
  std::uint64_t call = 0;
};

// `bytes` bytes of the stream. The same key gives the same bytes on every machine.
std::string random_bytes(const RandomKey& key, std::size_t bytes);

}  // namespace halfsent
