// Histories written by hand, one event a call. For tests only.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "harness/core/boundary.h"

namespace halfsent {

// Each call adds an event of the current actor and returns its number.
class Story {
 public:
  History history;

  // Whose events follow.
  Story& by(std::string actor, int incarnation = 1) {
    actor_ = std::move(actor);
    incarnation_ = incarnation;
    return *this;
  }
  Seq add(EventBody body, int process = 0) {
    const Seq seq = history.events.size();
    history.events.push_back({.seq = seq,
                              .at = Nanoseconds(100000 * static_cast<std::int64_t>(seq)),
                              .actor = actor_,
                              .incarnation = incarnation_,
                              .process = process,
                              .body = std::move(body)});
    return seq;
  }
  Seq stop(std::string call, std::string object, bool locked = false) {
    return add(Stopped{.call = std::move(call), .object = std::move(object), .holds_ledger_lock = locked});
  }
  Seq lock() { return stop("fcntl", "ledger.db-shm"); }
  Seq write() { return stop("pwrite64", "ledger.db-wal", true); }
  Seq unlock() { return stop("fcntl", "ledger.db-shm", true); }
  Seq change(std::string key, JobState from, JobState to, std::int64_t attempts = -1) {
    return add(LedgerChanged{.key = std::move(key), .from = from, .to = to, .attempts = attempts});
  }
  Seq claim(std::string key, std::int64_t attempts = 1) {
    return change(std::move(key), JobState::pending, JobState::leased, attempts);
  }
  Seq mark(std::string key) { return change(std::move(key), JobState::leased, JobState::delivered); }
  Seq send() { return stop("sendto", "downstream"); }
  Seq request(std::uint64_t id, std::string key, Seq first_send, std::string job = "") {
    return add(Requested{.request = id, .key = std::move(key), .first_send = first_send, .job = std::move(job)});
  }
  Seq accept(std::uint64_t id, std::string key) { return add(Accepted{.request = id, .key = std::move(key)}); }
  Seq respond(std::uint64_t id, std::string key) {
    return add(Responded{.request = id, .key = std::move(key), .status = 200});
  }

  [[nodiscard]] std::vector<std::string> names_at(Seq seq) const {
    std::vector<std::string> names;
    for (const Boundary& boundary : name_boundaries(history)) {
      if (boundary.seq == seq) names.push_back(to_string(boundary));
    }
    return names;
  }
  // The events that have this name, as to_string() writes it.
  [[nodiscard]] std::vector<Seq> events_of(std::string_view name) const {
    std::vector<Seq> events;
    for (const Boundary& boundary : name_boundaries(history)) {
      if (to_string(boundary) == name) events.push_back(boundary.seq);
    }
    return events;
  }

 private:
  std::string actor_ = "worker-1";
  int incarnation_ = 1;
};

}  // namespace halfsent
