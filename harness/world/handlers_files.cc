// System calls on files, sockets and locks: the effects.
#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <linux/openat2.h>
#include <netinet/in.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "harness/intercept/listener.h"
#include "harness/intercept/remote_memory.h"
#include "harness/world/engine.h"
#include "harness/world/proc_fs.h"

namespace halfsent {
namespace {

constexpr std::string_view reserved_path = "/halfsent/at/";

std::uint64_t sum_of_iovecs(pid_t tid, std::uint64_t address, std::uint64_t count) {
  std::vector<iovec> parts(std::min<std::uint64_t>(count, 1024));
  if (!read_remote(tid, address, parts.data(), parts.size() * sizeof(iovec))) return 0;
  std::uint64_t sum = 0;
  for (const iovec& part : parts) sum += part.iov_len;
  return sum;
}

std::uint64_t bytes_of(pid_t tid, const seccomp_data& call) {
  switch (call.nr) {
    case SYS_write:
    case SYS_pwrite64:
    case SYS_sendto:
      return call.args[2];
    case SYS_sendfile:
      return call.args[3];
    case SYS_writev:
    case SYS_pwritev:
    case SYS_pwritev2:
      return sum_of_iovecs(tid, call.args[1], call.args[2]);
    case SYS_sendmsg: {
      const auto message = read_remote_value<msghdr>(tid, call.args[1]);
      return message ? sum_of_iovecs(tid, reinterpret_cast<std::uint64_t>(message->msg_iov), message->msg_iovlen) : 0;
    }
    default:
      return 0;
  }
}

struct Endpoint {
  sa_family_t family = AF_UNSPEC;
  std::uint32_t address = 0;
  std::uint16_t port = 0;
};

Endpoint endpoint(const sockaddr_storage& storage) {
  Endpoint result{.family = storage.ss_family};
  if (storage.ss_family == AF_INET) {
    sockaddr_in in;
    std::memcpy(&in, &storage, sizeof in);
    result.address = ntohl(in.sin_addr.s_addr);
    result.port = ntohs(in.sin_port);
  } else if (storage.ss_family == AF_INET6) {
    sockaddr_in6 in;
    std::memcpy(&in, &storage, sizeof in);
    const unsigned char* bytes = in.sin6_addr.s6_addr;
    if (IN6_IS_ADDR_V4MAPPED(&in.sin6_addr) != 0)
      result.address = static_cast<std::uint32_t>(bytes[12]) << 24 | static_cast<std::uint32_t>(bytes[13]) << 16 |
                       static_cast<std::uint32_t>(bytes[14]) << 8 | bytes[15];
    result.port = ntohs(in.sin6_port);
  }
  return result;
}

bool ends_with_shm(std::string_view name) { return name.ends_with("-shm"); }

}  // namespace

UniqueFd Engine::duplicate(const Process& process, int fd) const {
  return UniqueFd(static_cast<int>(::syscall(SYS_pidfd_getfd, process.pidfd.get(), fd, 0)));
}

std::string Engine::target_of(Process& process, int fd) const {
  if (!process.descriptor_folder) process.descriptor_folder = open_descriptor_folder(process.pid);
  return descriptor_target(process.descriptor_folder, fd);
}

// The way through /proc costs more than all else that a lock call needs.
std::string Engine::locked_file(Process& process, int fd) const {
  static const pid_t self = ::getpid();
  LockedFile& known = process.locked_file;
  if (known.fd == fd && known.names == names_ &&
      ::syscall(SYS_kcmp, process.pid, self, KCMP_FILE, fd, known.copy.get()) == 0)
    return known.name;
  std::string name = watched_name(target_of(process, fd));
  if (ends_with_shm(name) && probe_->owns_file(name))
    known = {.copy = duplicate(process, fd), .fd = fd, .name = name, .names = names_};
  return name;
}

// Relative to the world's working folder; "" when the path is not of the world or the file has been deleted.
std::string Engine::watched_name(const std::string& absolute) const {
  const std::string world = std::string(Sandbox::kWorldPath) + "/";
  const std::string cwd = std::string(Sandbox::kCwdPath) + "/";
  if (absolute.ends_with(" (deleted)")) return {};
  if (absolute.starts_with(cwd)) return absolute.substr(cwd.size());
  if (absolute.starts_with(world)) return "../" + absolute.substr(world.size());
  return {};
}

std::string Engine::world_path(Thread& thread, int folder_fd, const std::string& path) const {
  std::filesystem::path full = path;
  if (!path.starts_with('/'))
    full = std::filesystem::path(folder_fd == AT_FDCWD ? working_directory(thread.process->pid)
                                                       : target_of(*thread.process, folder_fd)) /
           path;
  return full.lexically_normal().string();
}

void Engine::handle_write(Thread& thread, const SyscallRule& rule) {
  const auto& call = thread.notification.data;
  const int fd = static_cast<int>(call.args[0]);
  const std::string target = target_of(*thread.process, fd);
  if (target.starts_with("socket:")) return handle_send(thread, rule);
  Effect effect{.stop = {.call = std::string(rule.name), .object = {}, .bytes = bytes_of(thread.tid, call)}, .fd = fd};
  if (target.starts_with("pipe:")) {
    effect.stop.object = "pipe";
    thread.wait =
        Wait{.kind = Wait::Kind::descriptors, .fds = {{.fd = fd, .events = POLLOUT, .revents = 0}}, .object = "pipe"};
    return park(thread, std::move(effect));
  }
  effect.stop.object = watched_name(target);
  if (ends_with_shm(effect.stop.object)) {
    doubt_ledger(LedgerProbe::Since::written);
    return go_on(thread);
  }
  if (effect.stop.object.empty()) {
    // Output that nobody limits would fill the machine's memory.
    if (fd <= 2) {
      struct stat info {};
      constexpr off_t limit = 64 << 20;
      if (::fstat(thread.process->actor->output_fd, &info) == 0 && info.st_size > limit)
        return give_up("output", thread.process->actor->name + " has written more than 64 MiB to its standard output");
    }
    return go_on(thread);
  }
  if (call.nr == SYS_pwrite64) effect.stop.detail = "offset " + std::to_string(call.args[3]);
  park(thread, std::move(effect));
}

void Engine::handle_send(Thread& thread, const SyscallRule& rule) {
  const auto& call = thread.notification.data;
  const int fd = static_cast<int>(call.args[0]);
  const UniqueFd socket = duplicate(*thread.process, fd);
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (!socket || ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0) return go_on(thread);
  const Endpoint local = endpoint(address);
  if (local.family == AF_NETLINK) return go_on(thread);
  Effect effect{.stop = {.call = std::string(rule.name), .object = "socket", .bytes = bytes_of(thread.tid, call)},
                .is_network = true,
                .fd = fd};
  size = sizeof address;
  if (::getpeername(socket.get(), reinterpret_cast<sockaddr*>(&address), &size) == 0) {
    const Endpoint peer = endpoint(address);
    if (peer.address == INADDR_LOOPBACK && peer.port == scenario_.downstream.port) {
      effect.stop.object = "downstream";
      effect.to_downstream = true;
      effect.local_port = local.port;
    }
  }
  park(thread, std::move(effect));
}

void Engine::handle_connect(Thread& thread) {
  const auto& call = thread.notification.data;
  sockaddr_storage address{};
  const std::size_t size = std::min<std::size_t>(call.args[2], sizeof address);
  if (!read_remote(thread.tid, call.args[1], &address, size)) return go_on(thread);
  const Endpoint peer = endpoint(address);
  if (peer.family != AF_INET && peer.family != AF_INET6) return go_on(thread);
  Effect effect{.stop = {.call = "connect", .object = "port " + std::to_string(peer.port)},
                .is_connect = true,
                .is_network = true,
                .fd = static_cast<int>(call.args[0])};
  if (peer.address == INADDR_LOOPBACK && peer.port == scenario_.downstream.port) {
    effect.stop.object = "downstream";
    effect.to_downstream = true;
  }
  park(thread, std::move(effect));
}

void Engine::handle_file_sync(Thread& thread, const SyscallRule& rule) {
  const int fd = static_cast<int>(thread.notification.data.args[0]);
  Effect effect{.stop = {.call = std::string(rule.name), .object = watched_name(target_of(*thread.process, fd))},
                .fd = fd};
  if (effect.stop.object.empty()) return go_on(thread);
  if (ends_with_shm(effect.stop.object)) {
    doubt_ledger(LedgerProbe::Since::written);
    return go_on(thread);
  }
  if (rule.number == SYS_ftruncate) effect.stop.detail = "to " + std::to_string(thread.notification.data.args[1]);
  park(thread, std::move(effect));
}

void Engine::handle_path_effect(Thread& thread, const SyscallRule& rule) {
  const auto& call = thread.notification.data;
  const bool at = rule.number == SYS_unlinkat || rule.number == SYS_renameat || rule.number == SYS_renameat2 ||
                  rule.number == SYS_linkat;
  const auto path = read_remote_string(thread.tid, call.args[at ? 1 : 0]);
  if (!path) return go_on(thread);
  ++names_;
  Effect effect{
      .stop = {.call = std::string(rule.name),
               .object = watched_name(world_path(thread, at ? static_cast<int>(call.args[0]) : AT_FDCWD, *path))}};
  if (effect.stop.object.empty()) return go_on(thread);
  if (ends_with_shm(effect.stop.object)) {
    doubt_ledger(LedgerProbe::Since::created_or_removed);
    return go_on(thread);
  }
  park(thread, std::move(effect));
}

bool Engine::announced(Thread& thread, const std::string& path) {
  if (!path.starts_with(reserved_path)) return false;
  const std::string_view rest = std::string_view(path).substr(reserved_path.size());
  const std::size_t slash = std::min(rest.find('/'), rest.size());
  Effect effect{.stop = {.call = "at", .object = std::string(rest.substr(0, slash))}};
  if (slash < rest.size()) effect.stop.detail = std::string(rest.substr(slash + 1));
  park(thread, std::move(effect));
  return true;
}

void Engine::handle_look_up(Thread& thread, const SyscallRule& rule) {
  const auto& call = thread.notification.data;
  const bool plain = rule.number == SYS_stat || rule.number == SYS_lstat || rule.number == SYS_access;
  const std::uint64_t address = call.args[plain ? 0 : 1];
  // Most look-ups are no announcement; do not read their whole path.
  char start[reserved_path.size()];
  if (!read_remote(thread.tid, address, start, sizeof start) || std::string_view(start, sizeof start) != reserved_path)
    return go_on(thread);
  const auto path = read_remote_string(thread.tid, address, 65536);
  if (!path || !announced(thread, *path)) go_on(thread);
}

void Engine::handle_open(Thread& thread, const SyscallRule& rule) {
  const auto& call = thread.notification.data;
  Process& process = *thread.process;
  const bool plain = rule.number == SYS_open || rule.number == SYS_creat;
  const auto path = read_remote_string(thread.tid, call.args[plain ? 0 : 1], 65536);
  if (!path) return go_on(thread);
  if (announced(thread, *path)) return;
  std::uint64_t flags = call.args[plain ? 1 : 2];
  if (rule.number == SYS_creat) flags = O_CREAT | O_WRONLY | O_TRUNC;
  if (rule.number == SYS_openat2) flags = read_remote_value<std::uint64_t>(thread.tid, call.args[2]).value_or(0);
  const bool uuid = *path == "/proc/sys/kernel/random/uuid";
  if (uuid || *path == "/dev/urandom" || *path == "/dev/random") {
    std::string bytes = draw(process, 65536);
    if (uuid) {
      std::string text;
      for (std::size_t i = 0; i < 16; ++i) {
        if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
        for (const int shift : {4, 0}) text += "0123456789abcdef"[(static_cast<unsigned char>(bytes[i]) >> shift) & 15];
      }
      bytes = text + "\n";
    }
    const UniqueFd file(::memfd_create("random", MFD_CLOEXEC));
    (void)!::write(file.get(), bytes.data(), bytes.size());
    ::lseek(file.get(), 0, SEEK_SET);
    set_state(thread, Thread::State::running);
    if (!answer_with_descriptor(process.listener->get(), thread.notification.id, file.get(), (flags & O_CLOEXEC) != 0))
      reply(thread, 0, EMFILE);
    return;
  }
  if ((flags & (O_CREAT | O_TRUNC | O_WRONLY | O_RDWR)) == 0) return go_on(thread);
  const std::string absolute = world_path(thread, plain ? AT_FDCWD : static_cast<int>(call.args[0]), *path);
  const std::string name = watched_name(absolute);
  if (name.empty()) {
    if (!absolute.starts_with("/dev/") && !absolute.starts_with("/proc/") && outside_.insert(absolute).second)
      record(process, Note{"opened for writing outside the world: " + absolute});
    return go_on(thread);
  }
  if (is_read_only() && probe_->owns_file(name)) return reply(thread, 0, EROFS);
  struct stat info {};
  const bool exists = ::stat(sandbox_.host_path(absolute).c_str(), &info) == 0;
  const bool creates = (flags & O_CREAT) != 0 && !exists;
  if (ends_with_shm(name) || !(creates || (flags & O_TRUNC) != 0)) {
    doubt_ledger(LedgerProbe::Since::created_or_removed);
    return go_on(thread);
  }
  park(thread, {.stop = {.call = std::string(rule.name), .object = name, .detail = creates ? "creates" : "truncates"}});
}

void Engine::handle_lock(Thread& thread, const SyscallRule& rule) {
  const auto& call = thread.notification.data;
  const int fd = static_cast<int>(call.args[0]);
  const int command = static_cast<int>(call.args[1]);
  const std::string name = locked_file(*thread.process, fd);
  const bool of_ledger = !name.empty() && probe_->owns_file(name);
  Effect effect{.stop = {.call = std::string(rule.name), .object = name.empty() ? "file" : name}, .fd = fd};
  std::optional<Wait> wait;
  if (rule.number == SYS_flock) {
    const int what = command & ~LOCK_NB;
    effect.stop.detail = what == LOCK_UN ? "unlock" : what == LOCK_SH ? "lock shared" : "lock exclusive";
    if (what != LOCK_UN && (command & LOCK_NB) == 0)
      wait = Wait{.kind = Wait::Kind::description_lock, .object = effect.stop.object};
  } else {
    if (command != F_SETLK && command != F_SETLKW && command != F_OFD_SETLK && command != F_OFD_SETLKW)
      return go_on(thread);
    const auto lock = read_remote_value<struct flock>(thread.tid, call.args[2]);
    if (!lock) return go_on(thread);
    effect.stop.detail = std::string(lock->l_type == F_UNLCK   ? "unlock "
                                     : lock->l_type == F_RDLCK ? "lock shared "
                                                               : "lock exclusive ") +
                         std::to_string(lock->l_start) + "+" + std::to_string(lock->l_len);
    if (command == F_SETLK || command == F_SETLKW)
      effect.lock = LockAttempt{.file = effect.stop.object,
                                .fd = fd,
                                .kind = lock->l_type == F_UNLCK   ? LockAttempt::Kind::unlock
                                        : lock->l_type == F_RDLCK ? LockAttempt::Kind::shared
                                                                  : LockAttempt::Kind::exclusive,
                                .start = lock->l_start,
                                .length = lock->l_len};
    if (command == F_SETLKW && lock->l_type != F_UNLCK)
      wait = Wait{.kind = Wait::Kind::posix_lock, .object = effect.stop.object};
    if (command == F_OFD_SETLKW && lock->l_type != F_UNLCK)
      wait = Wait{.kind = Wait::Kind::description_lock, .object = effect.stop.object};
  }
  if (of_ledger) {
    thread.wait = std::move(wait);
    return park(thread, std::move(effect));
  }
  if (!wait) return go_on(thread);
  thread.effect.reset();
  hold(thread, std::move(*wait));
}

}  // namespace halfsent
