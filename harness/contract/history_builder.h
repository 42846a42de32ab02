// For tests: writes a history by hand, one readable line an event.
//
//   HistoryBuilder h;
//   h.at(2ms).by("worker-1").claims("k").requests(1, "k").accepts(1, "k").marks("k");
//   History history = h.at(30min).finishes("horizon");
#pragma once

#include <string>
#include <utility>

#include "harness/core/history.h"

namespace halfsent {

class HistoryBuilder {
 public:
  // The virtual time and the actor of the events that follow; the empty actor is the world.
  HistoryBuilder& at(Nanoseconds time) { return now_ = time, *this; }
  HistoryBuilder& by(std::string actor, int incarnation = 1, int process = 0) {
    actor_ = std::move(actor);
    incarnation_ = actor_.empty() ? 0 : incarnation;
    process_ = process;
    return *this;
  }

  HistoryBuilder& add(EventBody body) {
    history_.events.push_back(Event{.seq = static_cast<Seq>(history_.events.size()),
                                    .at = now_,
                                    .actor = actor_,
                                    .incarnation = incarnation_,
                                    .process = process_,
                                    .body = std::move(body)});
    return *this;
  }

  HistoryBuilder& starts() { return add(Started{}); }
  HistoryBuilder& stops(std::string call, std::string object, std::string detail = {}, std::uint64_t bytes = 0) {
    return add(
        Stopped{.call = std::move(call), .object = std::move(object), .detail = std::move(detail), .bytes = bytes});
  }
  HistoryBuilder& waits(std::string call, Nanoseconds deadline) {
    return add(Waiting{.call = std::move(call), .object = {}, .deadline = deadline});
  }
  HistoryBuilder& changes(std::string key, JobState from, JobState to, std::string raw_state = {}) {
    return add(LedgerChanged{.key = std::move(key), .from = from, .to = to, .raw_state = std::move(raw_state)});
  }
  HistoryBuilder& schedules(std::string key) { return changes(std::move(key), JobState::none, JobState::pending); }
  // Leased for a minute.
  HistoryBuilder& claims(std::string key, JobState from = JobState::pending, std::int64_t attempts = 1) {
    return add(LedgerChanged{.key = std::move(key),
                             .from = from,
                             .to = JobState::leased,
                             .raw_state = "leased",
                             .attempts = attempts,
                             .lease_until = now_ + std::chrono::minutes{1}});
  }
  HistoryBuilder& marks(std::string key, JobState from = JobState::leased) {
    return changes(std::move(key), from, JobState::delivered, "delivered");
  }
  HistoryBuilder& requests(std::uint64_t request, std::string key, std::string job = {}) {
    return add(Requested{.request = request,
                         .key = std::move(key),
                         .method = "POST",
                         .path = "/send",
                         .body_digest = "0123456789abcdef",
                         .attempt = 1,
                         .client_retry = false,
                         .first_send = no_seq,
                         .job = std::move(job)});
  }
  HistoryBuilder& accepts(std::uint64_t request, std::string key, bool deduplicated = false) {
    return add(Accepted{.request = request, .key = std::move(key), .deduplicated = deduplicated});
  }
  HistoryBuilder& responds(std::uint64_t request, std::string key, int status = 200, std::string how = "full") {
    return add(Responded{.request = request, .key = std::move(key), .status = status, .how = std::move(how)});
  }
  HistoryBuilder& fires(int fault, std::string text) {
    return add(FaultFired{.fault = fault, .text = std::move(text)});
  }
  HistoryBuilder& ends(Ended::How how, int code = 0) { return add(Ended{.how = how, .code = code}); }
  HistoryBuilder& is_killed() { return ends(Ended::How::killed_by_plan, 9); }
  HistoryBuilder& notes(std::string text) { return add(Note{.text = std::move(text)}); }

  // A request with its acceptance and its answer.
  HistoryBuilder& delivers(std::uint64_t request, const std::string& key, const std::string& job = {}) {
    return requests(request, key, job).accepts(request, key).responds(request, key);
  }

  // The whole history. The builder may go on from there.
  History finishes(std::string reason, std::string detail = {}) {
    by("").add(Finished{.reason = std::move(reason), .detail = std::move(detail)});
    return history_;
  }
  [[nodiscard]] const History& cut_off() const { return history_; }

 private:
  History history_{.scenario = "hand_written", .seed = 7, .plan = {}, .events = {}};
  Nanoseconds now_{0};
  std::string actor_;
  int incarnation_ = 0;
  int process_ = 0;
};

}  // namespace halfsent
