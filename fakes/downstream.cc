#include "fakes/downstream.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>
#include <xxhash.h>

#include <cerrno>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "fakes/connection.h"
#include "fakes/key_source.h"

namespace halfsent {
namespace {

// Closes on the way out unless released.
class Descriptor {
 public:
  explicit Descriptor(int value) : value_(value) {}
  ~Descriptor() {
    if (value_ >= 0) close(value_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  [[nodiscard]] int get() const { return value_; }
  int release() { return std::exchange(value_, -1); }

 private:
  int value_;
};

std::string digest_of(const std::string& body) { return fmt::format("{:016x}", XXH64(body.data(), body.size(), 0)); }

Error listen_error(std::uint16_t port, int error) {
  const std::string reason = std::generic_category().message(error);
  std::string mend = "see whether 127.0.0.1 is up";
  if (error == EADDRINUSE) {
    mend = fmt::format(
        "end the program that listens there ('ss -ltnp sport = :{}' names it) or give another port in "
        "[downstream] of the scenario",
        port);
  } else if (error == EACCES || error == EPERM) {
    mend = "give a port from 1024 up in [downstream] of the scenario";
  } else if (error == EMFILE || error == ENFILE) {
    mend = "raise the limit of open files (ulimit -n)";
  }
  return {.code = ExitCode::harness_fault,
          .message = fmt::format("the downstream cannot listen on 127.0.0.1 port {}: {}", port, reason),
          .mend = mend};
}

}  // namespace

struct Downstream::Impl {
  struct Known {
    std::uint64_t connection = 0;
    std::string key;
    bool answered = false;
  };

  DownstreamConfig config;
  Descriptor listener;
  std::uint64_t connections_seen = 0;
  RequestId requests_seen = 0;
  // Ordered: the order of arrivals must be the same in every run.
  std::map<std::uint64_t, std::unique_ptr<Connection>> connections;
  std::map<std::uint64_t, std::size_t> requests_on;  // by connection
  std::map<RequestId, Known> requests;
  std::map<std::string, Nanoseconds> accepted;  // by key: when its effect happened

  Impl(DownstreamConfig c, int listening) : config(std::move(c)), listener(listening) {}

  Known& known(RequestId id) {
    const auto found = requests.find(id);
    if (found == requests.end()) throw std::logic_error(fmt::format("the downstream has no request {}", id));
    return found->second;
  }

  bool accept_all() {
    bool moved = false;
    for (;;) {
      sockaddr_in peer{};
      socklen_t size = sizeof peer;
      const int fd = accept4(listener.get(), reinterpret_cast<sockaddr*>(&peer), &size, SOCK_NONBLOCK | SOCK_CLOEXEC);
      if (fd < 0) {
        // The client has gone before it was accepted: the next one waits behind it. Anything else, a full table of
        // descriptors too, can only be tried again later.
        if (errno == EINTR || errno == ECONNABORTED) continue;
        return moved;
      }
      moved = true;
      // Without it an answer right after "100 Continue" waits for the client's delayed acknowledgement.
      const int on = 1;
      setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
      const std::uint64_t id = ++connections_seen;
      connections.emplace(id, std::make_unique<Connection>(fd, id, ntohs(peer.sin_port), config));
    }
  }

  Arrival arrive(const Connection& connection, ReceivedRequest&& request) {
    if (config.witness) config.witness(request);
    Arrival arrival;
    arrival.id = ++requests_seen;
    arrival.connection = connection.id();
    arrival.peer_port = connection.peer_port();
    arrival.key = find_key(config.key, request);
    arrival.job = find_first_key(config.job, request);
    arrival.body_digest = digest_of(request.body);
    arrival.index_on_connection = requests_on[connection.id()]++;
    arrival.method = std::move(request.method);
    arrival.path = std::move(request.target);
    requests.emplace(arrival.id, Known{.connection = arrival.connection, .key = arrival.key});
    return arrival;
  }

  void step(Connection& connection, Pumped& pumped) {
    Connection::Step step = connection.step();
    pumped.progress |= step.moved;
    if (step.closed_by_client) pumped.closed.push_back(connection.peer_port());
    if (step.request) pumped.arrivals.push_back(arrive(connection, std::move(*step.request)));
    if (step.bad) {
      pumped.bad.push_back({connection.id(), connection.peer_port(), step.bad->status, std::move(step.bad->why)});
    }
  }

  void forget(std::uint64_t connection) {
    connections.erase(connection);
    requests_on.erase(connection);
  }
};

Downstream::Downstream(DownstreamConfig config, int listening)
    : impl_(std::make_unique<Impl>(std::move(config), listening)) {}

Downstream::~Downstream() = default;

Result<int> Downstream::listen(std::uint16_t port) {
  Descriptor fd(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (fd.get() < 0) return listen_error(port, errno);
  const int on = 1;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
      bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(fd.get(), SOMAXCONN) != 0) {
    return listen_error(port, errno);
  }
  return fd.release();
}

Downstream::Pumped Downstream::pump() {
  Pumped pumped;
  pumped.progress = impl_->accept_all();
  for (auto next = impl_->connections.begin(); next != impl_->connections.end();) {
    Connection& connection = *next->second;
    ++next;
    impl_->step(connection, pumped);
    if (connection.finished()) impl_->forget(connection.id());
  }
  return pumped;
}

bool Downstream::has_partial_request() const {
  for (const auto& [id, connection] : impl_->connections) {
    if (connection->has_partial_request()) return true;
  }
  return false;
}

bool Downstream::has_unwritten() const {
  for (const auto& [id, connection] : impl_->connections) {
    if (connection->has_unwritten()) return true;
  }
  return false;
}

Downstream::Acceptance Downstream::accept(RequestId id, Nanoseconds now) {
  const std::string& key = impl_->known(id).key;
  if (key.empty() || !impl_->config.honours_key) return {};
  const auto [memory, is_new] = impl_->accepted.emplace(key, now);
  if (is_new) return {};
  const Nanoseconds age = now - memory->second;
  if (age < impl_->config.key_lag) return {};  // not stored yet: the first effect's key still comes
  if (age < impl_->config.dedupe_window) return {.deduplicated = true};
  memory->second = now;
  return {};
}

void Downstream::answer(RequestId id, const Answer& how) {
  Impl::Known& request = impl_->known(id);
  if (request.answered) throw std::logic_error(fmt::format("request {} is answered already", id));
  request.answered = true;
  const auto found = impl_->connections.find(request.connection);
  if (found == impl_->connections.end()) return;
  Connection& connection = *found->second;
  switch (how.mode) {
    case AnswerMode::full:
    case AnswerMode::half:
      connection.respond(how);
      break;
    case AnswerMode::drop:
      connection.end();
      break;
    case AnswerMode::reset:
      connection.reset();
      break;
  }
  if (connection.finished()) impl_->forget(request.connection);
}

std::vector<int> Downstream::descriptors() const {
  std::vector<int> descriptors{impl_->listener.get()};
  for (const auto& [id, connection] : impl_->connections) {
    if (const int fd = connection->wants_input(); fd >= 0) descriptors.push_back(fd);
  }
  return descriptors;
}

}  // namespace halfsent
