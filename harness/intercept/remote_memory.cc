#include "harness/intercept/remote_memory.h"

#include <sys/uio.h>

#include <algorithm>
#include <cstring>

namespace halfsent {

bool read_remote(pid_t pid, RemoteAddress from, void* to, std::size_t bytes) {
  iovec local{to, bytes};
  iovec remote{reinterpret_cast<void*>(from), bytes};
  return ::process_vm_readv(pid, &local, 1, &remote, 1, 0) == static_cast<ssize_t>(bytes);
}

bool write_remote(pid_t pid, RemoteAddress to, const void* from, std::size_t bytes) {
  iovec local{const_cast<void*>(from), bytes};
  iovec remote{reinterpret_cast<void*>(to), bytes};
  return ::process_vm_writev(pid, &local, 1, &remote, 1, 0) == static_cast<ssize_t>(bytes);
}

std::optional<std::string> read_remote_string(pid_t pid, RemoteAddress from, std::size_t limit) {
  constexpr std::size_t page = 4096;
  std::string text;
  while (text.size() < limit) {
    // Up to the end of the page: the next one may not be mapped.
    char chunk[page];
    const std::size_t wanted = std::min(page - (from + text.size()) % page, limit - text.size());
    if (!read_remote(pid, from + text.size(), chunk, wanted)) return std::nullopt;
    if (const void* end = std::memchr(chunk, 0, wanted); end != nullptr) {
      text.append(chunk, static_cast<std::size_t>(static_cast<const char*>(end) - chunk));
      return text;
    }
    text.append(chunk, wanted);
  }
  return text;
}

}  // namespace halfsent
