#include "harness/world/keyed_random.h"

#include <xxhash.h>

#include <cstring>
#include <random>

namespace halfsent {

std::string random_bytes(const RandomKey& key, std::size_t bytes) {
  std::string name(key.actor);
  for (const std::uint64_t part :
       {key.seed, static_cast<std::uint64_t>(key.incarnation), static_cast<std::uint64_t>(key.process), key.call})
    name += ':' + std::to_string(part);
  std::mt19937_64 generator(XXH64(name.data(), name.size(), 0));
  std::string out(bytes, '\0');
  for (std::size_t at = 0; at < bytes; at += 8) {
    const std::uint64_t word = generator();
    std::memcpy(out.data() + at, &word, std::min<std::size_t>(8, bytes - at));
  }
  return out;
}

}  // namespace halfsent
