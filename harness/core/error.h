// Errors as values. Every function that can fail for a reason the user can mend returns Result<T>.
#pragma once

#include <boost/system/result.hpp>
#include <stdexcept>
#include <string>

namespace halfsent {

// How a command ends; the numbers are the process exit codes and are never shared.
enum class ExitCode : int {
  held = 0,
  violated = 1,
  usage = 2,
  harness_fault = 3,
  not_reached = 4,
  diverged = 5,
  incomplete = 6,
  inconclusive = 7,
  skipped = 77,
};

// One clear message. `message` says what is wrong, `mend` what to do about it (may be empty).
// `file` is empty and `line`/`column` are 0 where they do not apply.
struct Error {
  ExitCode code = ExitCode::harness_fault;
  std::string message;
  std::string mend = {};
  std::string file = {};
  int line = 0;
  int column = 0;

  // "file:line:column: message (mend)" with the parts that are known.
  [[nodiscard]] std::string to_string() const;

  friend bool operator==(const Error&, const Error&) = default;
};

// Found by boost::system::result<T, Error>::value(); reaching it is a bug of ours.
[[noreturn]] inline void throw_exception_from_error(const Error& error, const boost::source_location&) {
  throw std::logic_error("unchecked error: " + error.message);
}

template <class T>
using Result = boost::system::result<T, Error>;

}  // namespace halfsent
