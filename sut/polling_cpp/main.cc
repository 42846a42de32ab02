// A polling worker that is made right; the same design as ../polling_python/worker.py, which explains it.
//
// Usage: polling_cpp_worker NAME DATABASE URL --on-doubt retry|flag
#include <unistd.h>

#include <cstdio>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "job.h"
#include "ledger.h"
#include "send.h"

namespace polling {
namespace {

constexpr int exit_usage = 2;

// The key as a log may show it: control bytes and everything beyond ASCII are escaped.
std::string shown(const std::string& key) {
  constexpr char hex[] = "0123456789abcdef";
  std::string out = "'";
  for (const char c : key) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= ' ' && byte <= '~' && c != '\'' && c != '\\') {
      out += c;
    } else {
      out += {'\\', 'x', hex[byte >> 4], hex[byte & 15]};
    }
  }
  return out + "'";
}

class Worker {
 public:
  Worker(std::string name, Ledger& ledger, Url url) : name_(std::move(name)), ledger_(ledger), url_(std::move(url)) {}

  // Does one job. Returns false when there is nothing to do now.
  bool work_once() {
    std::optional<Job> job;
    try {
      job = ledger_.claim();
      if (!job) return false;
      if (!ledger_.record_intent(*job)) {
        log(shown(job->digest_key) + " is not sent: the lease has run out");
        return true;
      }
    } catch (const SQLite::Exception& error) {
      if (!passes(error)) throw;
      log(std::string("the ledger is in trouble, trying again later: ") + error.what());
      return false;
    }
    const Answer answer = send(url_, *job);
    if (answer.outcome != Outcome::accepted) {
      log(std::string(name_of(answer.outcome)) + " about " + shown(job->digest_key) + ": " + answer.reason);
    }
    settle_surely(*job, answer);
    return true;
  }

 private:
  // Settles, again and again while the ledger is in trouble, until the lease is over and others decide.
  void settle_surely(const Job& job, const Answer& answer) {
    const std::string what = std::string(name_of(answer.outcome)) + " of " + shown(job.digest_key);
    while (true) {
      try {
        if (!ledger_.settle(job, answer)) {
          log(what + " not written: its state is " + ledger_.describe(job) + " of " + std::to_string(job.token));
        }
        return;
      } catch (const SQLite::Exception& error) {
        if (!passes(error)) throw;
        log(what + " not written yet: " + error.what());
      }
      if (now_s() >= job.lease_until) return;
      ::sleep(1);
    }
  }

  void log(const std::string& text) const { std::fprintf(stderr, "%s: %s\n", name_.c_str(), text.c_str()); }

  std::string name_;
  Ledger& ledger_;
  Url url_;
};

int usage() {
  std::fputs("usage: polling_cpp_worker NAME DATABASE URL --on-doubt retry|flag\n", stderr);
  return exit_usage;
}

int run(const std::vector<std::string>& arguments) {
  if (arguments.size() != 5 || arguments[3] != "--on-doubt") return usage();
  if (arguments[4] != "retry" && arguments[4] != "flag") return usage();
  Ledger ledger(arguments[1], arguments[4] == "flag" ? OnDoubt::flag : OnDoubt::retry);
  Worker worker(arguments[0], ledger, parse_url(arguments[2]));
  while (true) {
    if (!worker.work_once()) ::sleep(static_cast<unsigned>(poll_s));
  }
}

}  // namespace
}  // namespace polling

int main(int argc, char** argv) {
  try {
    return polling::run({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "polling_cpp_worker: %s\n", error.what());
    return 1;
  }
}
