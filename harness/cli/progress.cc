#include "harness/cli/progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>

#include "harness/core/text.h"

namespace halfsent {

namespace {

double now_s() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

}  // namespace

Stopwatch::Stopwatch() : start_(now_s()) {}

double Stopwatch::seconds() const { return now_s() - start_; }

struct Progress::State {
  using Clock = std::chrono::steady_clock;  // real time: it is only shown
  std::string name;
  bool terminal = false;
  bool drawn = false;
  Clock::time_point start = Clock::now();
  Clock::time_point last = start;

  static std::size_t width();

  void show(int done, int total) {
    const Clock::time_point now = Clock::now();
    const auto interval = terminal ? std::chrono::milliseconds{100} : std::chrono::milliseconds{10'000};
    if (now - last < interval && !(terminal && done == total)) return;
    last = now;
    const double seconds = std::chrono::duration<double>(now - start).count();
    const double rate = seconds > 0 ? done / seconds : 0;
    const std::string text =
        fmt::format("{}: {} of {} ({}%), {:.1f} a second, {:.0f} s left", printable(name), done, total,
                    total > 0 ? done * 100 / total : 100, rate, rate > 0 ? (total - done) / rate : 0);
    std::fputs((terminal ? "\r\x1b[K" + text.substr(0, width()) : text + "\n").c_str(), stderr);
    drawn = true;
  }
};

// A line that wraps cannot be written over.
std::size_t Progress::State::width() {
  winsize size{};
  return ::ioctl(2, TIOCGWINSZ, &size) == 0 && size.ws_col > 1 ? size.ws_col - 1u : std::string::npos;
}

Progress::Progress(std::string name) : state_(std::make_shared<State>()) {
  state_->name = std::move(name);
  state_->terminal = ::isatty(2) == 1;
}

std::function<void(int, int)> Progress::callback() const {
  return [state = state_](int done, int total) { state->show(done, total); };
}

void Progress::finish() const {
  if (state_->terminal && state_->drawn) std::fputs("\r\x1b[K", stderr);
  state_->drawn = false;
}

}  // namespace halfsent
