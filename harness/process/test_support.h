// What the tests of this folder share: running a program in a sandbox to its end, and denying system calls for real.
#pragma once

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <seccomp.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "harness/process/death.h"
#include "harness/process/launch.h"
#include "harness/process/sandbox.h"
#include "harness/process/unique_fd.h"

namespace halfsent {

struct Finished {
  Death death;
  std::string output;  // stdout
};

inline std::pair<UniqueFd, UniqueFd> make_pipe() {
  std::array<int, 2> ends{-1, -1};
  EXPECT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
  return {UniqueFd(ends[0]), UniqueFd(ends[1])};
}

// Up to the end of file: every writer has closed.
inline std::string drain(int fd) {
  std::string text;
  std::array<char, 4096> buffer{};
  for (ssize_t got = 0; (got = read(fd, buffer.data(), buffer.size())) != 0;) {
    if (got > 0) text.append(buffer.data(), static_cast<std::size_t>(got));
    if (got < 0 && errno != EINTR) break;
  }
  return text;
}

inline std::string read_line(int fd) {
  std::string line;
  for (char c = 0; read(fd, &c, 1) == 1 && c != '\n';) line += c;
  return line;
}

inline LaunchSpec shell(std::string script) {
  LaunchSpec spec;
  spec.argv = {"sh", "-c", std::move(script)};
  spec.envp = {"PATH=/usr/bin:/bin", "LC_ALL=C"};
  return spec;
}

inline Result<Finished> run(Sandbox& sandbox, LaunchSpec spec) {
  auto [reader, writer] = make_pipe();
  spec.stdout_fd = writer.get();
  auto launched = launch(sandbox, spec);
  writer.reset();
  if (!launched) return launched.error();
  Finished finished;
  finished.output = drain(reader.get());
  const auto death = reap(launched->pid);
  if (!death) return death.error();
  finished.death = *death;
  return finished;
}

inline Result<Finished> run(Sandbox& sandbox, std::string script) { return run(sandbox, shell(std::move(script))); }

// The output of a script that must succeed.
inline std::string output_of(Sandbox& sandbox, std::string script) {
  const auto finished = run(sandbox, std::move(script));
  if (!finished) {
    ADD_FAILURE() << finished.error().to_string();
    return {};
  }
  EXPECT_TRUE(finished->death.succeeded()) << finished->death.to_string();
  return finished->output;
}

inline std::unique_ptr<Sandbox> make_sandbox() {
  auto made = Sandbox::create();
  if (made) return std::move(*made);
  ADD_FAILURE() << made.error().to_string();
  return nullptr;
}

struct Listening {
  UniqueFd socket;
  int port = 0;
};

inline sockaddr_in loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

// Listens on a port of the network namespace the caller is in.
inline Result<Listening> listen_on(int port) {
  Listening result{UniqueFd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)), port};
  const sockaddr_in address = loopback(port);
  if (bind(result.socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      listen(result.socket.get(), 8) != 0) {
    return Error{.message = std::strerror(errno)};
  }
  return result;
}

inline UniqueFd open_pidfd(pid_t pid) { return UniqueFd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0))); }

// Has the process ended (within the limit)?
inline bool ended(const UniqueFd& pidfd, int limit_ms) {
  pollfd wait{.fd = pidfd.get(), .events = POLLIN, .revents = 0};
  return poll(&wait, 1, limit_ms) == 1;
}

// One system call that the kernel refuses from now on to this process and its children, for good. With `mask` only
// where argument `argument` has (value & mask) == `wanted`.
struct Denial {
  int call = -1;
  int error = EPERM;
  unsigned argument = 0;
  std::uint64_t mask = 0;
  std::uint64_t wanted = 0;
};

inline bool deny(const std::vector<Denial>& denials) {
  scmp_filter_ctx context = seccomp_init(SCMP_ACT_ALLOW);
  bool done = context != nullptr;
  for (const Denial& denial : denials) {
    const scmp_arg_cmp compare{denial.argument, SCMP_CMP_MASKED_EQ, denial.mask, denial.wanted};
    done = done && seccomp_rule_add_array(context, SCMP_ACT_ERRNO(static_cast<unsigned>(denial.error)), denial.call,
                                          denial.mask != 0 ? 1 : 0, &compare) == 0;
  }
  done = done && seccomp_load(context) == 0;
  seccomp_release(context);
  return done;
}

}  // namespace halfsent
