#include "harness/core/boundary.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "harness/core/boundary_kind.h"
#include "harness/core/plan_words.h"

namespace halfsent {
namespace {

// Reads a history once, in order, and names each stop by what the events around it changed.
class Namer {
 public:
  explicit Namer(const History& history) : history_(history), effect_name_(history) {}

  std::vector<Boundary> name_all() {
    for (const Event& event : history_.events) {
      std::visit([this, &event](const auto& body) { on(event, body); }, event.body);
    }
    name_unnamed_stops();
    return sorted_and_counted();
  }

 private:
  struct Name {
    Seq seq;
    BoundaryName name;
    std::string text;
    std::string key;
    std::string actor;
    bool lock_held;
    [[nodiscard]] auto order() const { return std::tie(seq, name, text, key); }
  };

  struct Stop {
    const Event* event;
    std::string open_key;  // the job that the actor works on there
    bool named = false;
    [[nodiscard]] Seq seq() const { return event->seq; }
    [[nodiscard]] const Stopped& body() const { return std::get<Stopped>(event->body); }
  };

  // One incarnation of an actor with all processes of its tree. "First after" never leaves it: the next incarnation is
  // another life.
  struct Life {
    std::vector<Stop> stops;
    std::vector<std::pair<BoundaryName, std::string>> at_next_stop;  // name, key
    std::vector<std::string> open_keys;  // claimed and not marked; the one worked on last is at the back
    void open(const std::string& key) {
      close(key);
      open_keys.push_back(key);
    }
    bool close(const std::string& key) { return std::erase(open_keys, key) > 0; }
  };
  using LifeId = std::pair<std::string, int>;

  struct Request {
    LifeId life;
    std::string key;
  };

  struct Job {
    std::int64_t attempts = -1;
    LifeId claimed_by;
  };

  template <class Other>
  void on(const Event&, const Other&) {}

  void on(const Event& event, const Stopped& stop) {
    Life& life = lives_[{event.actor, event.incarnation}];
    const std::string open_key = life.open_keys.empty() ? std::string() : life.open_keys.back();
    life.stops.push_back({.event = &event, .open_key = open_key});
    for (auto& [name, key] : life.at_next_stop) add(life.stops.back(), name, std::move(key));
    life.at_next_stop.clear();
    if (stop.call == "at") {
      add(life.stops.back(), BoundaryName::announced, stop.detail.empty() ? open_key : stop.detail);
    }
  }

  void on(const Event& event, const LedgerChanged& change) {
    const LifeId id{event.actor, event.incarnation};
    Job& job = jobs_[change.key];
    const bool claims = is_claim(change, job, id);
    if (change.attempts >= 0) job.attempts = change.attempts;
    if (claims) job.claimed_by = id;
    if (event.actor.empty()) return;

    Life& life = lives_[id];
    const bool was_due = change.from == JobState::leased || change.from == JobState::pending;
    const bool is_terminal = change.to == JobState::delivered || change.to == JobState::flagged;
    if (claims) {
      name_transaction(life, change.key, BoundaryName::before_claim, BoundaryName::in_claim);
      life.at_next_stop.emplace_back(BoundaryName::after_claim, change.key);
      life.open(change.key);
      last_claim_[event.actor] = change.key;
    } else if (was_due && is_terminal) {
      name_transaction(life, change.key, BoundaryName::before_mark, BoundaryName::in_mark);
      life.at_next_stop.emplace_back(BoundaryName::after_mark, change.key);
    } else if (change.from == JobState::none && change.to == JobState::pending) {
      name_transaction(life, change.key, BoundaryName::before_schedule, BoundaryName::in_schedule);
      life.at_next_stop.emplace_back(BoundaryName::after_schedule, change.key);
    }
    if (change.to != JobState::leased) life.close(change.key);
  }

  // A lease that is only renewed is no claim. A ledger that counts no attempts shows a take-over by who changed it.
  static bool is_claim(const LedgerChanged& change, const Job& job, const LifeId& by) {
    if (change.to != JobState::leased) return false;
    if (change.from != JobState::leased) return true;
    return change.attempts >= 0 ? change.attempts > job.attempts : by != job.claimed_by;
  }

  // The change has just become visible. Going back from there, the transaction's stops hold a lock; the stop before
  // them is the one whose release took the first lock. Where no lock is seen, the last stop itself is before the
  // change.
  void name_transaction(Life& life, const std::string& key, BoundaryName before, BoundaryName in) {
    std::size_t first_inside = life.stops.size();
    while (first_inside > 0 && life.stops[first_inside - 1].body().holds_ledger_lock) --first_inside;
    for (std::size_t i = first_inside; i < life.stops.size(); ++i) add(life.stops[i], in, key);
    if (first_inside > 0) add(life.stops[first_inside - 1], before, key);
  }

  void on(const Event& event, const Requested& requested) {
    const LifeId id{event.actor, event.incarnation};
    Life& life = lives_[id];
    std::string key = !requested.key.empty() ? requested.key : requested.job;
    if (key.empty()) {
      if (const auto claim = last_claim_.find(event.actor); claim != last_claim_.end()) key = claim->second;
    }
    if (life.close(key)) life.open(key);

    Stop* const first = requested.first_send == no_seq ? nullptr : find_stop(event.actor, requested.first_send);
    if (first) add(*first, BoundaryName::before_send, key);
    const auto second =
        first ? std::ranges::upper_bound(life.stops, requested.first_send, {}, &Stop::seq) : life.stops.end();
    if (second != life.stops.end()) {
      add(*second, BoundaryName::after_send, key);
    } else {
      add(event, BoundaryName::after_send, key, event.actor, holds_lock(id));
    }
    add(event, BoundaryName::before_accept, key, event.actor, holds_lock(id));
    requests_[requested.request] = {.life = id, .key = std::move(key)};
  }

  void on(const Event& event, const Accepted& accepted) {
    const Request request = find_request(event, accepted.request, accepted.key);
    add(event, BoundaryName::after_accept, request.key, request.life.first, holds_lock(request.life));
  }

  void on(const Event& event, const Responded& responded) {
    Request request = find_request(event, responded.request, responded.key);
    lives_[request.life].at_next_stop.emplace_back(BoundaryName::after_response, std::move(request.key));
  }

  [[nodiscard]] Request find_request(const Event& event, std::uint64_t id, const std::string& key) const {
    const auto found = requests_.find(id);
    return found != requests_.end() ? found->second : Request{{event.actor, event.incarnation}, key};
  }

  // A stop of any incarnation of the actor: the first byte may be an earlier one's.
  Stop* find_stop(const std::string& actor, Seq seq) {
    for (auto life = lives_.lower_bound({actor, 0}); life != lives_.end() && life->first.first == actor; ++life) {
      std::vector<Stop>& stops = life->second.stops;
      const auto found = std::ranges::lower_bound(stops, seq, {}, &Stop::seq);
      if (found != stops.end() && found->event->seq == seq) return &*found;
    }
    return nullptr;
  }

  // Only stops tell who holds a lock, so a request is as the stop was whose release sent it.
  [[nodiscard]] bool holds_lock(const LifeId& id) const {
    const auto life = lives_.find(id);
    return life != lives_.end() && !life->second.stops.empty() && life->second.stops.back().body().holds_ledger_lock;
  }

  void add(Stop& stop, BoundaryName name, std::string key) {
    stop.named = true;
    add(*stop.event, name, std::move(key), stop.event->actor, stop.body().holds_ledger_lock);
  }

  void add(const Event& event, BoundaryName name, std::string key, const std::string& actor, bool lock_held) {
    std::string text(name_of(name));
    if (name == BoundaryName::announced) {
      text = std::string(announced_prefix) + std::get<Stopped>(event.body).object;
    }
    names_.push_back({event.seq, name, std::move(text), std::move(key), actor, lock_held});
  }

  void name_unnamed_stops() {
    for (auto& [id, life] : lives_) {
      for (Stop& stop : life.stops) {
        if (!stop.named) add(stop, effect_name_(stop.body()), stop.open_key);
      }
    }
  }

  std::vector<Boundary> sorted_and_counted() {
    std::ranges::sort(names_, {}, &Name::order);
    const auto repeated = std::ranges::unique(names_, {}, &Name::order);
    names_.erase(repeated.begin(), repeated.end());

    std::map<std::tuple<std::string, std::string, std::string>, int> with_key;
    std::map<std::pair<std::string, std::string>, int> with_any_key;
    std::vector<Boundary> boundaries;
    boundaries.reserve(names_.size());
    for (Name& name : names_) {
      const int of_any = ++with_any_key[{name.text, name.actor}];
      const int occurrence = name.key.empty() ? of_any : ++with_key[{name.text, name.key, name.actor}];
      boundaries.push_back({.seq = name.seq,
                            .name = std::move(name.text),
                            .key = std::move(name.key),
                            .actor = std::move(name.actor),
                            .occurrence = occurrence,
                            .lock_held = name.lock_held});
    }
    return boundaries;
  }

  const History& history_;
  EffectNamer effect_name_;
  std::vector<Name> names_;
  std::map<LifeId, Life> lives_;
  std::map<std::uint64_t, Request> requests_;
  std::map<std::string, Job> jobs_;
  std::map<std::string, std::string> last_claim_;  // by actor
};

bool is_at(const Fault& fault, const Boundary& boundary) {
  if (strikes_downstream(fault.kind)) return true;
  if (strikes_ledger(fault.kind)) return !boundary.actor.empty();
  return fault.target == all_actors ? !boundary.actor.empty() : boundary.actor == fault.target;
}

// How many of the boundaries up to this one an anchor with its name and key passes, when `counts` says which ones do.
template <class Counts>
int passed_until(const Boundary& boundary, std::span<const Boundary> boundaries, Counts counts) {
  return static_cast<int>(std::ranges::count_if(boundaries, [&](const Boundary& other) {
    return other.seq <= boundary.seq && other.name == boundary.name && counts(other) &&
           (boundary.key.empty() || other.key == boundary.key);
  }));
}

}  // namespace

std::vector<Boundary> name_boundaries(const History& history) { return Namer(history).name_all(); }

std::optional<Seq> resolve(const Fault& fault, std::span<const Boundary> boundaries) {
  if (!fault.at) return std::nullopt;
  int passed = 0;
  for (const Boundary& boundary : boundaries) {
    const bool matches = boundary.name == fault.at->boundary &&
                         (fault.at->key.empty() || boundary.key == fault.at->key) && is_at(fault, boundary);
    if (matches && ++passed == fault.at->occurrence) return boundary.seq;
  }
  return std::nullopt;
}

Anchor anchor_for(FaultKind kind, const Boundary& boundary, std::span<const Boundary> boundaries) {
  if (strikes_ledger(kind)) return anchor_for_all(boundary, boundaries);
  Anchor anchor{.boundary = boundary.name, .key = boundary.key, .occurrence = boundary.occurrence};
  if (strikes_downstream(kind)) {
    anchor.occurrence = passed_until(boundary, boundaries, [](const Boundary&) { return true; });
  }
  return anchor;
}

Anchor anchor_for_all(const Boundary& boundary, std::span<const Boundary> boundaries) {
  const auto is_an_actors = [](const Boundary& other) { return !other.actor.empty(); };
  return {
      .boundary = boundary.name, .key = boundary.key, .occurrence = passed_until(boundary, boundaries, is_an_actors)};
}

std::string to_string(const Boundary& boundary) {
  std::string out = quote_key(boundary.name);
  if (!boundary.key.empty()) out += fmt::format(" {}", quote_key(boundary.key));
  if (boundary.occurrence != 1) out += fmt::format(" #{}", boundary.occurrence);
  return out;
}

}  // namespace halfsent
