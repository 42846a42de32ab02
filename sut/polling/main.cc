// The reference system: polling workers on one ledger, and who schedules, recovers and operates.
//
// Usage: polling_reference worker NAME DATABASE URL --on-doubt retry|flag [OPTION VALUE]...
//        polling_reference reaper NAME DATABASE --on-doubt retry|flag [OPTION VALUE]...
#include <unistd.h>

#include <cstdio>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "arguments.h"
#include "database.h"
#include "recovery.h"
#include "worker.h"

namespace reference {
namespace {

constexpr int exit_usage = 2;

int usage() {
  std::fputs(
      "usage: polling_reference worker NAME DATABASE URL --on-doubt retry|flag [OPTION VALUE]...\n"
      "       polling_reference reaper NAME DATABASE --on-doubt retry|flag [OPTION VALUE]...\n"
      "options (seconds or counts): --lease --poll --send-timeout --retry-delay --render --archive --max-attempts"
      " --sweep-page; --defect NAME\n",
      stderr);
  return exit_usage;
}

[[noreturn]] void reap(Database& db, const Arguments& arguments) {
  Recovery recovery(db, arguments.name, arguments.terms);
  while (true) {
    recovery.sweep();
    ::sleep(static_cast<unsigned>(arguments.terms.poll_s));
  }
}

int run(const std::vector<std::string>& words) {
  const std::optional<Arguments> arguments = parse_arguments(words);
  if (!arguments) return usage();
  Database db(arguments->database);
  if (arguments->role == "worker") {
    Worker(arguments->name, db, parse_url(arguments->url), arguments->terms).run();
  }
  reap(db, *arguments);
}

}  // namespace
}  // namespace reference

int main(int argc, char** argv) {
  try {
    return reference::run({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "polling_reference: %s\n", error.what());
    return 1;
  }
}
