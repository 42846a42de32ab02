// How far a campaign is: a line that rewrites itself on a terminal, a plain line every 10 s elsewhere.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "reports/terminal.h"

namespace halfsent {

class Progress {
 public:
  Progress(std::string name, const Style& style);

  // Copies share their state with this object.
  [[nodiscard]] std::function<void(int done, int total)> callback() const;

  // Ends the line on a terminal.
  void finish() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace halfsent
