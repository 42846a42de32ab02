#include "harness/world/ready_set.h"

#include <sys/epoll.h>

#include <cerrno>
#include <system_error>
#include <utility>

namespace halfsent {

Result<ReadySet> ReadySet::create() {
  UniqueFd epoll(::epoll_create1(EPOLL_CLOEXEC));
  if (!epoll) return Error{.message = "cannot wait for workers: " + std::system_category().message(errno)};
  return ReadySet(std::move(epoll));
}

void ReadySet::add(int fd, Handler handler) {
  handlers_[fd] = std::make_shared<Handler>(std::move(handler));
  epoll_event event{.events = EPOLLIN, .data = {.fd = fd}};
  (void)::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event);
}

void ReadySet::remove(int fd) {
  if (handlers_.erase(fd) > 0) (void)::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
}

bool ReadySet::handle_one(std::chrono::milliseconds real_time) {
  epoll_event event{};
  if (::epoll_wait(epoll_.get(), &event, 1, static_cast<int>(real_time.count())) != 1) return false;
  const auto found = handlers_.find(event.data.fd);
  if (found == handlers_.end()) return false;
  const std::shared_ptr<Handler> handler = found->second;
  (*handler)();
  return true;
}

bool ReadySet::handle_all() {
  bool any = false;
  while (handle_one(std::chrono::milliseconds{0})) any = true;
  return any;
}

}  // namespace halfsent
