#include "harness/intercept/listener.h"

#include <fcntl.h>
#include <sys/ioctl.h>

#include <cerrno>

namespace halfsent {

void wake_on_this_cpu(int listener) {
#ifndef SECCOMP_IOCTL_NOTIF_SET_FLAGS  // of Linux 6.6
#define SECCOMP_IOCTL_NOTIF_SET_FLAGS SECCOMP_IOW(4, __u64)
#define SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP (1UL << 0)
#endif
  (void)::ioctl(listener, SECCOMP_IOCTL_NOTIF_SET_FLAGS, SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP);
}

std::optional<seccomp_notif> receive(int listener) {
  seccomp_notif notification{};
  if (::ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &notification) != 0) return std::nullopt;
  return notification;
}

bool still_waiting(int listener, std::uint64_t id) { return ::ioctl(listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &id) == 0; }

bool let_continue(int listener, std::uint64_t id) {
  seccomp_notif_resp response{};
  response.id = id;
  response.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
  return ::ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &response) == 0;
}

bool answer(int listener, std::uint64_t id, std::int64_t value, int error) {
  seccomp_notif_resp response{};
  response.id = id;
  response.val = error != 0 ? 0 : value;
  response.error = -error;
  return ::ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &response) == 0;
}

bool answer_with_descriptor(int listener, std::uint64_t id, int ours, bool close_on_exec) {
  seccomp_notif_addfd add{};
  add.id = id;
  add.flags = SECCOMP_ADDFD_FLAG_SEND;
  add.srcfd = static_cast<std::uint32_t>(ours);
  add.newfd_flags = close_on_exec ? O_CLOEXEC : 0;
  return ::ioctl(listener, SECCOMP_IOCTL_NOTIF_ADDFD, &add) >= 0;
}

bool install_descriptor(int listener, std::uint64_t id, int ours, int theirs) {
  seccomp_notif_addfd add{};
  add.id = id;
  add.flags = SECCOMP_ADDFD_FLAG_SETFD;
  add.srcfd = static_cast<std::uint32_t>(ours);
  add.newfd = static_cast<std::uint32_t>(theirs);
  return ::ioctl(listener, SECCOMP_IOCTL_NOTIF_ADDFD, &add) >= 0;
}

}  // namespace halfsent
