// Descriptors that the engine waits for: the listeners of its workers' stops and the pidfds of their deaths.
//
// One epoll set in which every descriptor stays from add() to remove(). (An event loop that arms each wait anew costs
// two more system calls a stop, a quarter of what a stop costs in all.)
//
// Threads: one. Does not own the descriptors; remove() before closing one that others may have a copy of.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>

#include "harness/core/error.h"
#include "harness/process/unique_fd.h"

namespace halfsent {

class ReadySet {
 public:
  using Handler = std::function<void()>;  // may add and remove descriptors, its own too

  // Errors: no descriptor is left.
  static Result<ReadySet> create();

  // `handler` is called as long as `fd` is readable, or its other side is gone.
  void add(int fd, Handler handler);
  void remove(int fd);

  // Calls the handler of one descriptor that is ready, waiting up to `real_time` for it (negative: for ever).
  // False when nothing was ready in time.
  bool handle_one(std::chrono::milliseconds real_time);

  // Handles what is ready now. False when there was nothing.
  bool handle_all();

 private:
  explicit ReadySet(UniqueFd epoll) : epoll_(std::move(epoll)) {}

  UniqueFd epoll_;
  std::map<int, std::shared_ptr<Handler>> handlers_;  // shared: a handler may remove itself while it runs
};

}  // namespace halfsent
