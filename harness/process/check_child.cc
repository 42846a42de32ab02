#include "harness/process/check_child.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <string_view>

#include "harness/process/death.h"
#include "harness/process/unique_fd.h"

namespace halfsent {
namespace {

// One line of state, then two texts that end with NUL.
void send_result(int pipe, const CheckResult& result) {
  std::string text(1, static_cast<char>('0' + static_cast<int>(result.state)));
  text += result.found + '\0' + result.mend + '\0';
  std::string_view rest = text;
  while (!rest.empty()) {
    const ssize_t sent = write(pipe, rest.data(), rest.size());
    if (sent <= 0) return;
    rest.remove_prefix(static_cast<std::size_t>(sent));
  }
}

std::string read_all(int pipe) {
  std::string text;
  std::array<char, 4096> buffer{};
  for (;;) {
    const ssize_t got = read(pipe, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(got));
  }
}

}  // namespace

CheckResult run_in_child(const char* name, const std::function<CheckResult()>& body) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0)
    return {name, CheckState::fail, std::strerror(errno), "free some descriptors"};
  const UniqueFd reader(ends[0]);
  UniqueFd writer(ends[1]);
  const pid_t child = fork();
  if (child < 0)
    return {name, CheckState::fail, fmt::format("fork: {}", std::strerror(errno)), "raise the process limit"};
  if (child == 0) {
    send_result(writer.get(), body());
    _exit(0);
  }
  writer.reset();
  const std::string text = read_all(reader.get());
  const auto death = reap(child);
  const std::size_t first = text.find('\0');
  const std::size_t second = first == std::string::npos ? first : text.find('\0', first + 1);
  if (second == std::string::npos) {
    return {name, CheckState::fail, "the check " + (death ? death->to_string() : death.error().message), ""};
  }
  return {name, static_cast<CheckState>(text[0] - '0'), text.substr(1, first - 1),
          text.substr(first + 1, second - first - 1)};
}

}  // namespace halfsent
