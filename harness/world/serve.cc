// The downstream's side of a step: requests that have arrived, what the plan does to them, answers that are due.
#include <linux/sockios.h>
#include <poll.h>
#include <sys/ioctl.h>

#include <algorithm>

#include "harness/world/engine.h"

namespace halfsent {
namespace {

// Milliseconds of real time. Nothing is lost when they are over: the request is then received at a later stop.
constexpr int most_waits_for_more = 2000;

std::string_view mode_name(AnswerMode mode) {
  switch (mode) {
    case AnswerMode::full:
      return "full";
    case AnswerMode::half:
      return "half";
    case AnswerMode::drop:
      return "drop";
    case AnswerMode::reset:
      return "reset";
  }
  return "full";
}

}  // namespace

// Bytes of an unfinished request that the kernel has and has not sent yet, because the window was closed: they come
// without anybody's doing, as soon as the kernel gets round to it. Waits a little for them.
bool Engine::more_is_on_its_way() const {
  if (!downstream_->has_partial_request()) return false;
  const bool unsent = std::any_of(connections_.begin(), connections_.end(), [&](const auto& entry) {
    const Connection& connection = entry.second;
    if (connection.process == nullptr || connection.process->dead || connection.fd < 0) return false;
    const UniqueFd socket = duplicate(*connection.process, connection.fd);
    int bytes = 0;
    return socket && ::ioctl(socket.get(), SIOCOUTQNSD, &bytes) == 0 && bytes > 0;
  });
  if (!unsent) return false;
  std::vector<pollfd> ours;
  for (const int fd : downstream_->descriptors()) ours.push_back({.fd = fd, .events = POLLIN, .revents = 0});
  (void)::poll(ours.data(), ours.size(), 1);
  return true;
}

bool Engine::observe_downstream() {
  const bool idle = !network_dirty_ && arrivals_.empty() && bad_input_.empty() && late_.empty();
  if (idle && !downstream_->has_unwritten() && !downstream_->has_partial_request()) return false;
  while (!error_ && !gave_up_) {
    int waits = 0;
    do {
      if (std::exchange(network_dirty_, false)) barrier_->pass();
      drain_downstream();
    } while (network_dirty_ || (more_is_on_its_way() && ++waits < most_waits_for_more));
    // Somebody may have waited in the kernel for room to send.
    if (anybody_runs()) {
      settle();
      network_dirty_ = true;
      doubt_ledger(LedgerProbe::Since::created_or_removed);
      return true;
    }
    answer_due_requests();
    while (!arrivals_.empty() && !error_) {
      const Arrival arrival = std::move(arrivals_.front());
      arrivals_.pop_front();
      serve(arrival);
    }
    for (const BadInput& bad : std::exchange(bad_input_, {})) {
      const auto from = connections_.find(bad.peer_port);
      const Note note{.text = "the downstream answered " + std::to_string(bad.status) +
                              " to input that is no request: " + bad.why};
      if (from == connections_.end()) {
        record(nullptr, 0, 0, note);
      } else {
        record(from->second.actor, from->second.incarnation, from->second.process_index, note);
      }
    }
    if (!network_dirty_) break;  // what is not written yet waits for its client to read
  }
  return false;
}

void Engine::serve(const Arrival& arrival) {
  Request& request = requests_[arrival.id];
  request.arrival = arrival;
  Connection& connection = connections_[arrival.peer_port];
  request.from = connection;
  connection.first_send = no_seq;
  const std::string& job = arrival.key.empty() ? arrival.job : arrival.key;
  Requested requested{.request = arrival.id,
                      .key = arrival.key,
                      .method = arrival.method,
                      .path = arrival.path,
                      .body_digest = arrival.body_digest,
                      .attempt = ++attempts_[job],
                      .first_send = request.from.first_send,
                      .job = arrival.job};
  const std::string sender =
      request.from.actor == nullptr ? "" : request.from.actor->name + "/" + std::to_string(request.from.incarnation);
  requested.client_retry = !job.empty() && last_sender_[job] == sender;
  last_sender_[job] = sender;
  request_fault_ = nullptr;
  record(request.from.actor, request.from.incarnation, request.from.process_index, requested);
  if (!serve_fault(arrival.id, false)) accept_and_answer(arrival.id);
}

void Engine::accept_and_answer(RequestId id) {
  const Request& request = requests_.at(id);
  const Downstream::Acceptance acceptance = downstream_->accept(id, clock_.now());
  record(request.from.actor, request.from.incarnation, request.from.process_index,
         Accepted{.request = id, .key = request.arrival.key, .deduplicated = acceptance.deduplicated});
  const DownstreamConfig& config = scenario_.downstream;
  if (serve_fault(id, true)) return;
  answer_request(id, {.status = acceptance.deduplicated ? config.known_key_status : config.accepted_status});
}

bool Engine::serve_fault(RequestId id, bool accepted) {
  const Fault* fault = std::exchange(request_fault_, nullptr);
  if (fault == nullptr) return false;
  switch (fault->kind) {
    case FaultKind::drop:
      answer_request(id, {.mode = AnswerMode::drop});
      return true;
    case FaultKind::reset:
      answer_request(id, {.mode = AnswerMode::reset});
      return true;
    case FaultKind::half:
      answer_request(id, {.mode = AnswerMode::half});
      return true;
    case FaultKind::status:
      answer_request(id, {.status = fault->status});
      return true;
    case FaultKind::stall:
      disturbed_until(clock_.now() + fault->duration);
      late_.push_back({.due = clock_.now() + fault->duration, .id = id, .how = {.mode = AnswerMode::drop}});
      return true;
    case FaultKind::late:
      disturbed_until(clock_.now() + fault->duration);
      late_.push_back({.due = clock_.now() + fault->duration, .id = id, .how = {}, .accept_first = !accepted});
      return true;
    default:
      return false;
  }
}

void Engine::answer_request(RequestId id, Answer how) {
  const Request& request = requests_.at(id);
  const bool lost = request.from.process != nullptr && request.from.process->dead;
  downstream_->answer(id, how);
  network_dirty_ = true;
  record(request.from.actor, request.from.incarnation, request.from.process_index,
         Responded{.request = id,
                   .key = request.arrival.key,
                   .status = how.mode == AnswerMode::drop || how.mode == AnswerMode::reset ? 0 : how.status,
                   .how = std::string(lost ? "lost" : mode_name(how.mode))});
}

void Engine::answer_due_requests() {
  while (!error_) {
    const auto due = std::min_element(late_.begin(), late_.end(), [](const LateAnswer& a, const LateAnswer& b) {
      return std::tie(a.due, a.id) < std::tie(b.due, b.id);
    });
    if (due == late_.end() || due->due > clock_.now()) return;
    const LateAnswer answer = *due;
    late_.erase(due);
    if (answer.accept_first) {
      accept_and_answer(answer.id);
    } else {
      answer_request(answer.id, answer.how);
    }
  }
}

}  // namespace halfsent
