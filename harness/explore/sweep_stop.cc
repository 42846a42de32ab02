#include "harness/explore/sweep_stop.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "harness/core/boundary_kind.h"

namespace halfsent {
namespace {

bool is_before_or_after(const Boundary& boundary) {
  return boundary.name.starts_with("before_") || boundary.name.starts_with("after_");
}

bool is_announced(const Boundary& boundary) { return boundary.name.starts_with("at:"); }

bool at_the_downstream(const Boundary& boundary) {
  return boundary.name == "before_accept" || boundary.name == "after_accept";
}

bool is_at_work(const Boundary& boundary) {
  constexpr std::array<std::string_view, 7> names = {"after_claim",  "before_send",    "after_send", "before_accept",
                                                     "after_accept", "after_response", "before_mark"};
  return std::find(names.begin(), names.end(), boundary.name) != names.end();
}

// Less is more telling.
int rank(const Boundary& boundary) {
  if (is_before_or_after(boundary)) return 0;
  if (boundary.name.starts_with("in_")) return 1;
  if (is_announced(boundary)) return 2;
  return 3;
}

// "worker" of "worker-1"
std::string_view kind_of(std::string_view actor) { return actor.substr(0, actor.rfind('-')); }

// Whose last life had not ended by itself when the execution was over.
std::set<std::string> actors_at_the_end(const History& history) {
  std::set<std::string> there;
  for (const Event& event : history.events) {
    if (event.process != 0) continue;
    if (std::holds_alternative<Started>(event.body)) there.insert(event.actor);
    if (std::holds_alternative<Ended>(event.body)) there.erase(event.actor);
  }
  return there;
}

bool has_several_actors(const History& history) {
  std::set<std::string> actors;
  for (const Event& event : history.events)
    if (!event.actor.empty()) actors.insert(event.actor);
  return actors.size() > 1;
}

// Goes through a history once, from stop to stop.
class Reader {
 public:
  explicit Reader(const History& history)
      : history_(history),
        effect_name_(history),
        at_the_end_(actors_at_the_end(history)),
        several_actors_(has_several_actors(history)) {}

  // REQUIRES: calls come in order of seq.
  void describe(SweepStop& stop) {
    const Seq seq = stop.telling->seq;
    for (; next_ < history_.events.size() && history_.events[next_].seq <= seq; ++next_) take(history_.events[next_]);
    if (next_ == 0 || history_.events[next_ - 1].seq != seq) return;  // boundaries of another history, or none
    const Event& event = history_.events[next_ - 1];
    stop.uncertain = several_actors_ && uncertain_;
    stop.beside = several_actors_;
    stop.gone = ended_.contains({event.actor, event.incarnation});
    if (const auto* stopped = std::get_if<Stopped>(&event.body)) {
      const BoundaryName effect = effect_name_(*stopped);
      stop.connects = effect == BoundaryName::connect && stopped->object == "downstream";
      stop.ledger_change = effect >= BoundaryName::ledger_write && effect <= BoundaryName::ledger_unlink;
      stop.ledger_write = effect == BoundaryName::ledger_write;
    }
    const auto& living = living_[event.actor];
    stop.several_living = living.size() > 1;
    stop.root_with_child = event.process == 0 && std::any_of(living.begin(), living.end(),
                                                             [](const auto& process) { return process.second != 0; });
    stop.peer_stays = std::any_of(at_the_end_.begin(), at_the_end_.end(), [&](const std::string& other) {
      return other != event.actor && kind_of(other) == kind_of(event.actor);
    });
  }

 private:
  void take(const Event& event) {
    const bool stopped = std::holds_alternative<Stopped>(event.body);
    const bool waits = std::holds_alternative<Waiting>(event.body);
    // A process is known by what it does, not by what becomes of what it did: answers outlive those who asked.
    if (stopped || waits || std::holds_alternative<Started>(event.body))
      living_[event.actor].insert({event.incarnation, event.process});
    if (std::holds_alternative<Ended>(event.body)) {
      living_[event.actor].erase({event.incarnation, event.process});
      if (event.process == 0) ended_.insert({event.actor, event.incarnation});
    }

    uncertain_ = stopped && uncertain_commit_ != nullptr && uncertain_commit_->actor == event.actor;
    if (std::holds_alternative<CommitUncertain>(event.body)) {
      uncertain_commit_ = &event;
    } else if (!waits) {  // another thread's wait changes nothing
      uncertain_commit_ = nullptr;
    }
  }

  const History& history_;
  const EffectNamer effect_name_;
  const std::set<std::string> at_the_end_;
  const bool several_actors_;
  std::size_t next_ = 0;
  std::map<std::string, std::set<std::pair<int, int>>> living_;  // (incarnation, process) by actor
  std::set<std::pair<std::string, int>> ended_;                  // incarnations whose first process has
  const Event* uncertain_commit_ = nullptr;
  bool uncertain_ = false;  // at the event taken last
};

}  // namespace

std::vector<SweepStop> sweep_stops(const History& clean, std::span<const Boundary> boundaries) {
  std::vector<SweepStop> stops;
  Reader reader(clean);
  for (auto first = boundaries.begin(); first != boundaries.end();) {
    const auto last = std::find_if(first, boundaries.end(), [first](const Boundary& b) { return b.seq != first->seq; });
    SweepStop stop{.names = std::span(first, last)};
    // min_element keeps the first of equals: the order of the table decides.
    stop.telling = &*std::min_element(first, last, [](const auto& a, const auto& b) { return rank(a) < rank(b); });
    if (const auto at = std::find_if(first, last, at_the_downstream); at != last) stop.downstream = &*at;
    reader.describe(stop);
    stops.push_back(stop);
    first = last;
  }
  return stops;
}

bool takes(const SweepStop& stop, SweepWhere where) {
  if (where == SweepWhere::downstream) return stop.downstream != nullptr;
  if (where == SweepWhere::downstream_decides)
    return stop.downstream != nullptr && stop.downstream->name == "before_accept";
  if (stop.telling->actor.empty()) return false;
  const bool named = is_before_or_after(*stop.telling) || is_announced(*stop.telling);
  switch (where) {
    case SweepWhere::every_stop:
      return true;
    case SweepWhere::every_stop_beside:
      return stop.beside;
    case SweepWhere::several_living:
      return stop.several_living;
    case SweepWhere::root_with_child:
      return stop.root_with_child;
    case SweepWhere::uncertain:
      return stop.uncertain;
    case SweepWhere::named:
      return named;
    case SweepWhere::named_with_peer:
      return named && stop.peer_stays;
    case SweepWhere::at_work:
      return is_at_work(*stop.telling);
    case SweepWhere::at_work_beside:
      return is_at_work(*stop.telling) && stop.peer_stays;
    case SweepWhere::connecting:
      return stop.connects;
    case SweepWhere::ledger_change:
      return stop.ledger_change;
    case SweepWhere::ledger_write:
      return stop.ledger_write;
    case SweepWhere::downstream:
    case SweepWhere::downstream_decides:
    case SweepWhere::start:
      return false;
  }
  return false;
}

bool is_idle(const SweepStop& stop) {
  return stop.telling->key.empty() && !is_before_or_after(*stop.telling) && !stop.uncertain;
}

std::vector<std::string> actors_of(const History& history) {
  std::vector<std::string> actors;
  for (const Event& event : history.events)
    if (std::holds_alternative<Started>(event.body) &&
        std::find(actors.begin(), actors.end(), event.actor) == actors.end())
      actors.push_back(event.actor);
  return actors;
}

}  // namespace halfsent
