// Reads and writes the memory of a stopped process. The process must be parked at a system call of ours: nothing else
// keeps its memory still. Threads: any. Errors: a false or empty result means that the process is gone or the address
// is not mapped.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace halfsent {

using RemoteAddress = std::uint64_t;

bool read_remote(pid_t pid, RemoteAddress from, void* to, std::size_t bytes);
bool write_remote(pid_t pid, RemoteAddress to, const void* from, std::size_t bytes);

// A NUL-terminated string of at most `limit` bytes; nullopt when it cannot be read.
std::optional<std::string> read_remote_string(pid_t pid, RemoteAddress from, std::size_t limit = 4096);

template <class T>
std::optional<T> read_remote_value(pid_t pid, RemoteAddress from) {
  T value{};
  if (!read_remote(pid, from, &value, sizeof value)) return std::nullopt;
  return value;
}

}  // namespace halfsent
