// How far a campaign is: a line that rewrites itself on a terminal, a plain line every 10 s elsewhere.
#pragma once

#include <functional>
#include <memory>
#include <string>

namespace halfsent {

// Real time since it was made. It is only shown, and decides nothing.
class Stopwatch {
 public:
  Stopwatch();
  [[nodiscard]] double seconds() const;

 private:
  double start_;
};

class Progress {
 public:
  explicit Progress(std::string name);

  // Copies share their state with this object.
  [[nodiscard]] std::function<void(int done, int total)> callback() const;

  // Ends the line on a terminal.
  void finish() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace halfsent
