#include "harness/world/network_barrier.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

namespace halfsent {

Result<NetworkBarrier> NetworkBarrier::create() {
  UniqueFd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  // Connected to itself: nobody else's datagrams get in.
  if (!socket || ::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0 ||
      ::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), size) != 0)
    return Error{.message = std::string("cannot use loopback in the world: ") + std::strerror(errno)};
  return NetworkBarrier(std::move(socket));
}

void NetworkBarrier::pass() {
  char byte = 0;
  while (::send(socket_.get(), &byte, 1, 0) < 0 && errno == EINTR) {
  }
  while (::recv(socket_.get(), &byte, 1, 0) < 0 && errno == EINTR) {
  }
}

}  // namespace halfsent
