// The reference system: polling workers on one ledger, and who schedules, recovers and operates.
//
// Usage: polling_reference worker NAME DATABASE URL --on-doubt retry|flag [OPTION VALUE]...
//        polling_reference reaper NAME DATABASE --on-doubt retry|flag [OPTION VALUE]...
//        polling_reference scheduler NAME DATABASE [OPTION VALUE]...
//        polling_reference operator NAME DATABASE replay|redrive|purge KEY
#include <unistd.h>

#include <cstdio>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "arguments.h"
#include "database.h"
#include "log.h"
#include "operator.h"
#include "recovery.h"
#include "scheduler.h"
#include "worker.h"

namespace reference {
namespace {

constexpr int exit_usage = 2;

int usage() {
  std::fputs(
      "usage: polling_reference worker NAME DATABASE URL --on-doubt retry|flag [OPTION VALUE]...\n"
      "       polling_reference reaper NAME DATABASE --on-doubt retry|flag [OPTION VALUE]...\n"
      "       polling_reference scheduler NAME DATABASE [OPTION VALUE]...\n"
      "       polling_reference operator NAME DATABASE replay|redrive|purge KEY\n"
      "options (seconds or counts): --lease --poll --send-timeout --retry-delay --render --archive --max-attempts"
      " --sweep-page; --defect NAME\n",
      stderr);
  return exit_usage;
}

[[noreturn]] void reap(Database& db, const Arguments& arguments) {
  Recovery recovery(db, arguments.name, arguments.terms);
  while (true) {
    try {
      recovery.sweep();
    } catch (const SQLite::Exception& error) {
      if (!passes(error)) throw;
      log(arguments.name, std::string("the ledger is in trouble, trying again later: ") + error.what());
    }
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
  if (arguments->role == "scheduler") Scheduler(db, arguments->name, arguments->terms).run();
  if (arguments->role == "operator") {
    const int jobs = operate(db, arguments->name, arguments->action, arguments->key);
    std::printf("%s: %d\n", arguments->action.c_str(), jobs);
    return jobs > 0 ? 0 : 1;
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
