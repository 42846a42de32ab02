#include "fakes/connection.h"

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string_view>
#include <utility>

#include "fakes/response.h"

namespace halfsent {
namespace {

constexpr std::size_t read_chunk = 64u << 10;
// One connection must not keep the others waiting within one step.
constexpr std::size_t max_read_per_step = 1u << 20;
// Pipelined input that is taken in while a request waits for its answer; beyond it the client is slowed down by TCP.
constexpr std::size_t max_read_ahead = 1u << 20;

bool would_block(int error) { return error == EAGAIN || error == EWOULDBLOCK; }

}  // namespace

Connection::Connection(int descriptor, std::uint64_t id, std::uint16_t peer_port, const DownstreamConfig& config)
    : descriptor_(descriptor),
      id_(id),
      peer_port_(peer_port),
      reader_(config.max_header_bytes, config.max_body_bytes) {}

Connection::~Connection() { close_now(); }

Connection::Step Connection::step() {
  Step step;
  if (finished()) return step;
  step.moved = flush();
  step.moved |= receive(step);
  parse(step);
  step.moved |= flush();
  step.moved |= settle();
  return step;
}

bool Connection::reads_ahead_enough() const { return busy_ && !closing_ && reader_.buffered() >= max_read_ahead; }

int Connection::wants_input() const { return input_ended_ || reads_ahead_enough() ? -1 : descriptor_; }

bool Connection::has_partial_request() const { return !busy_ && !closing_ && !input_ended_ && reader_.partial(); }

bool Connection::receive(Step& step) {
  std::array<char, read_chunk> buffer;
  std::size_t total = 0;
  bool moved = false;
  while (!input_ended_ && !reads_ahead_enough() && total < max_read_per_step) {
    const ssize_t n = recv(descriptor_, buffer.data(), buffer.size(), 0);
    if (n > 0) {
      moved = true;
      total += static_cast<std::size_t>(n);
      if (!closing_) reader_.append({buffer.data(), static_cast<std::size_t>(n)});
      continue;
    }
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && would_block(errno)) break;
    if (n < 0) output_failed();
    moved = true;
    input_ended(step);
  }
  return moved;
}

void Connection::input_ended(Step& step) {
  input_ended_ = true;
  step.closed_by_client = true;
}

void Connection::parse(Step& step) {
  if (busy_ || closing_) return;
  const RequestReader::Outcome outcome = reader_.read();
  if (reader_.take_expects_continue() && !output_failed_) output_ += "HTTP/1.1 100 Continue\r\n\r\n";
  switch (outcome) {
    case RequestReader::Outcome::need_more:
      // The end of input alone says only that the client sends nothing more; what it sent completely is served first.
      if (input_ended_) closing_ = true;
      return;
    case RequestReader::Outcome::request:
      step.moved = true;
      step.request = reader_.take();
      busy_ = true;
      head_ = step.request->method == "HEAD";
      http10_ = step.request->http10;
      keep_alive_ = step.request->keep_alive;
      return;
    case RequestReader::Outcome::bad:
      step.moved = true;
      step.bad = reader_.bad();
      closing_ = true;
      if (!output_failed_) output_ += render_response({AnswerMode::full, step.bad->status}, {.keep_alive = false});
      return;
  }
}

void Connection::respond(const Answer& answer) {
  // After an interim status a client goes on waiting: only the end of the connection tells it that this was all.
  const bool interim = answer.status < 200;
  const bool keep = keep_alive_ && !interim;
  busy_ = false;
  // A half answer promises what a whole one does, so "Connection: close" must not give it away.
  const std::string text = render_response(answer, {.head = head_, .http10 = http10_, .keep_alive = keep});
  if (!output_failed_) output_ += text;
  if (!keep || answer.mode == AnswerMode::half) closing_ = true;
  flush();
  settle();
}

void Connection::end() {
  busy_ = false;
  closing_ = true;
  flush();
  settle();
}

void Connection::reset() {
  const linger hard{.l_onoff = 1, .l_linger = 0};
  // Fails only for a socket that is no longer connected, and then there is nobody to tell.
  setsockopt(descriptor_, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
  close_now();
}

bool Connection::flush() {
  bool moved = false;
  while (!output_.empty()) {
    const ssize_t n = send(descriptor_, output_.data(), output_.size(), MSG_NOSIGNAL);
    if (n >= 0) {
      moved = true;
      output_.erase(0, static_cast<std::size_t>(n));
      continue;
    }
    if (errno == EINTR) continue;
    if (would_block(errno)) break;
    output_failed();
    moved = true;
  }
  return moved;
}

void Connection::output_failed() {
  output_failed_ = true;
  output_.clear();
}

// Takes the next step of closing, if closing and if possible.
bool Connection::settle() {
  if (finished() || !closing_ || !output_.empty()) return false;
  bool moved = false;
  if (!fin_sent_) {
    // Fails when the client has reset the connection; reading tells that too.
    shutdown(descriptor_, SHUT_WR);
    fin_sent_ = true;
    moved = true;
  }
  if (input_ended_) {
    close_now();
    moved = true;
  }
  return moved;
}

void Connection::close_now() {
  if (descriptor_ >= 0) close(descriptor_);
  descriptor_ = -1;
  output_.clear();
}

}  // namespace halfsent
