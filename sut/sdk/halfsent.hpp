// Announces a boundary of one's own to Halfsent, from C++17 on. Copy this file; there is nothing to link.
//
//     halfsent::at("rendered", digest_key);
//     halfsent::at("rendered");              // of the job that this worker holds
//
// Elsewhere it is one failed look-up. Keeps errno, may be called from any thread; throws only std::bad_alloc.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <string_view>

namespace halfsent {

inline void at(std::string_view name, std::string_view key = {}) {
  const int before = errno;
  std::string path(name);
  std::replace(path.begin(), path.end(), '/', '_');
  path.insert(0, "/halfsent/at/").append(1, '/').append(key);
  (void)::access(path.c_str(), F_OK);
  errno = before;
}

}  // namespace halfsent
