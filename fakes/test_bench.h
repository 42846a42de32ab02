// For tests: a downstream with clients of its own in one thread, over real sockets.
//
// Nothing sleeps: pump_until() moves bytes until the claim holds and waits in poll() when nothing can move. The time
// limit only ends a test that would hang, and then it fails.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fakes/downstream.h"

namespace halfsent::testing {

inline constexpr int hang_limit_ms = 20'000;

inline sockaddr_in local_address(int fd) {
  sockaddr_in address{};
  socklen_t size = sizeof address;
  EXPECT_EQ(getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size), 0);
  return address;
}

// A client that keeps what it receives. Move-only through unique_ptr in Bench.
class Client {
 public:
  explicit Client(std::uint16_t port) : fd_(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)) {
    const int on = 1;
    setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const int result = connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address);
    EXPECT_TRUE(result == 0 || errno == EINPROGRESS);
  }
  ~Client() { close_all(); }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  void send(std::string_view bytes) { to_send_ += bytes; }
  void half_close() { half_close_ = true; }
  void close_all() {
    if (fd_ >= 0) close(fd_);
    fd_ = -1;
  }
  // As the kernel does for a killed process with unread input.
  void abort() {
    const linger hard{.l_onoff = 1, .l_linger = 0};
    setsockopt(fd_, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
    close_all();
  }
  // Off: what the server sends stays in the socket.
  void reads(bool on) { reads_ = on; }

  bool move() {
    bool moved = false;
    while (fd_ >= 0 && !to_send_.empty()) {
      const ssize_t n = ::send(fd_, to_send_.data(), to_send_.size(), MSG_NOSIGNAL);
      if (n < 0) {
        if (errno != EAGAIN) fail(errno);
        break;
      }
      to_send_.erase(0, static_cast<std::size_t>(n));
      moved = true;
    }
    if (fd_ >= 0 && to_send_.empty() && std::exchange(half_close_, false)) shutdown(fd_, SHUT_WR);
    while (fd_ >= 0 && reads_ && !ended()) {
      char buffer[16'384];
      const ssize_t n = recv(fd_, buffer, sizeof buffer, 0);
      if (n < 0 && errno == EAGAIN) break;
      moved = true;
      if (n < 0) fail(errno);
      if (n == 0) eof_ = true;
      if (n > 0) received_.append(buffer, static_cast<std::size_t>(n));
    }
    return moved;
  }

  [[nodiscard]] pollfd wanted() const {
    const short in = reads_ && !ended() ? POLLIN : 0;
    const short out = to_send_.empty() ? 0 : POLLOUT;
    return {.fd = fd_ >= 0 && (in | out) ? fd_ : -1, .events = static_cast<short>(in | out), .revents = 0};
  }

  [[nodiscard]] int fd() const { return fd_; }
  [[nodiscard]] std::uint16_t port() const { return ntohs(local_address(fd_).sin_port); }
  [[nodiscard]] const std::string& received() const { return received_; }
  [[nodiscard]] bool all_sent() const { return to_send_.empty(); }
  [[nodiscard]] bool eof() const { return eof_; }
  [[nodiscard]] int error() const { return error_; }
  [[nodiscard]] bool ended() const { return eof_ || error_ != 0; }

 private:
  void fail(int error) {
    if (error_ == 0) error_ = error;
    to_send_.clear();
  }

  int fd_;
  std::string to_send_;
  std::string received_;
  bool half_close_ = false;
  bool reads_ = true;
  bool eof_ = false;
  int error_ = 0;
};

class Bench {
 public:
  explicit Bench(DownstreamConfig config = {}) {
    const auto listening = Downstream::listen(0);
    EXPECT_TRUE(listening.has_value());
    port_ = ntohs(local_address(*listening).sin_port);
    downstream_ = std::make_unique<Downstream>(std::move(config), *listening);
  }

  // Called with each arrival as soon as it is there.
  std::function<void(const Arrival&)> on_arrival;

  Client& client() { return *clients_.emplace_back(std::make_unique<Client>(port_)); }
  Downstream& downstream() { return *downstream_; }
  [[nodiscard]] std::uint16_t port() const { return port_; }

  // Pumps until nothing moves, without the clients.
  bool settle() {
    bool moved = false;
    for (;;) {
      Downstream::Pumped pumped = downstream_->pump();
      ++pumps;
      bad.insert(bad.end(), pumped.bad.begin(), pumped.bad.end());
      closed.insert(closed.end(), pumped.closed.begin(), pumped.closed.end());
      for (const Arrival& arrival : pumped.arrivals) {
        arrivals.push_back(arrival);
        if (on_arrival) on_arrival(arrival);
      }
      if (!pumped.progress) return moved;
      moved = true;
    }
  }

  // `extra`: one more descriptor to wait for, of whoever else makes the claim true.
  [[nodiscard]] ::testing::AssertionResult pump_until(const std::function<bool()>& claim, int extra = -1) {
    for (;;) {
      bool moved = settle();
      for (const auto& client : clients_) moved |= client->move();
      if (claim()) return ::testing::AssertionSuccess();
      if (moved) continue;
      std::vector<pollfd> wanted;
      for (const int fd : downstream_->descriptors()) wanted.push_back({.fd = fd, .events = POLLIN, .revents = 0});
      for (const auto& client : clients_) wanted.push_back(client->wanted());
      wanted.push_back({.fd = extra, .events = POLLIN, .revents = 0});
      if (poll(wanted.data(), wanted.size(), hang_limit_ms) == 0) {
        return ::testing::AssertionFailure() << "hangs with " << arrivals.size() << " arrivals, " << bad.size()
                                             << " bad inputs, " << closed.size() << " closed connections";
      }
    }
  }

  [[nodiscard]] ::testing::AssertionResult pump_until_arrivals(std::size_t count) {
    return pump_until([&] { return arrivals.size() >= count; });
  }

  // Only the listener is left: every connection is closed on both sides.
  [[nodiscard]] ::testing::AssertionResult pump_until_no_connection() {
    return pump_until([&] { return downstream_->descriptors().size() == 1; });
  }

  void answer_all(Answer how = {}) {
    on_arrival = [this, how](const Arrival& arrival) { downstream_->answer(arrival.id, how); };
  }

  std::vector<Arrival> arrivals;
  std::vector<BadInput> bad;
  std::vector<std::uint16_t> closed;
  int pumps = 0;

 private:
  std::uint16_t port_ = 0;
  std::unique_ptr<Downstream> downstream_;
  std::vector<std::unique_ptr<Client>> clients_;
};

inline KeySource header_key(std::string name = "Idempotency-Key") {
  return {.kind = KeySource::Kind::header, .where = std::move(name)};
}

inline DownstreamConfig config_with(KeySource key) {
  DownstreamConfig config;
  config.key = std::move(key);
  return config;
}

inline std::string post(std::string_view path, std::string_view key, std::string_view body = {},
                        std::string_view more_fields = {}) {
  std::string text = "POST " + std::string(path) + " HTTP/1.1\r\nHost: downstream\r\n";
  if (!key.empty()) text += "Idempotency-Key: " + std::string(key) + "\r\n";
  text += std::string(more_fields) + "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n";
  return text + std::string(body);
}

inline const std::string accepted_response =
    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 21\r\n\r\n{\"status\":\"accepted\"}";

}  // namespace halfsent::testing
