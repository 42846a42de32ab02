#include "harness/contract/job_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "harness/contract/sentences.h"
#include "harness/core/plan.h"

namespace halfsent {
namespace {

using Life = std::pair<std::string, int>;  // actor and incarnation

Life life_of(const Event& event) { return {event.actor, event.incarnation}; }

// The claims of one incarnation, to attribute requests that do not say which job they are for.
struct Claims {
  std::vector<std::string> open;  // claimed, neither settled nor requested since, oldest first
  std::string last;               // claimed last, open or not
  bool any = false;
  bool done = false;  // `last` was requested and then settled: what comes next is not for it, if it says so
  bool requested = false;
};

class Gatherer {
 public:
  Gatherer(const History& history, const ContractTerms& terms) : history_(history) {
    for (const auto& key : terms.keys) know(key);
    for (const auto& event : history.events) {
      if (const auto* change = std::get_if<LedgerChanged>(&event.body)) know(change->key);
    }
  }

  Facts run() {
    for (const auto& event : history_.events) {
      std::visit([&](const auto& body) { take(event, body); }, event.body);
    }
    const Event* finished = history_.events.empty() ? nullptr : &history_.events.back();
    if (finished != nullptr && !std::holds_alternative<Finished>(finished->body)) finished = nullptr;
    for (auto& [key, job] : facts_.jobs) {
      job.finished = finished;
      job.complete = finished != nullptr && is_complete(std::get<Finished>(finished->body));
      for (auto& effect : job.effects) {
        settle_doubt(job, effect);
        effect.late = late_since(job, effect);
      }
    }
    share_keys();
    share_slots();
    return std::move(facts_);
  }

 private:
  void know(const std::string& key) {
    facts_.known[key] = true;
    facts_.jobs[key].key = key;
  }
  JobFacts& job(const std::string& key) {
    JobFacts& found = facts_.jobs[key];
    found.key = key;
    return found;
  }

  template <class Other>
  void take(const Event&, const Other&) {}

  void take(const Event& event, const LedgerChanged& change) {
    JobFacts& changed = job(change.key);
    changed.changes.push_back(&event);
    changed.state = change.to;
    changed.raw_state = change.raw_state;
    if (event.actor.empty()) return;
    Claims& claims = claims_[life_of(event)];
    std::erase(claims.open, change.key);
    if (claims.any && claims.last == change.key && change.to != JobState::leased) claims.done = claims.requested;
    // Removing a row is the claim of a system that pops its jobs; marking an unclaimed one that of a system that
    // marks before it sends.
    const bool takes = change.to == JobState::leased || change.to == JobState::none ||
                       (change.to == JobState::delivered && change.from == JobState::pending);
    if (!takes) return;
    claims.open.push_back(change.key);
    claims.last = change.key;
    claims.any = true;
    const bool sent_before = std::any_of(changed.requests.begin(), changed.requests.end(),
                                         [&](const Event* request) { return life_of(*request) == life_of(event); });
    claims.done = claims.requested = change.to != JobState::leased && sent_before;
  }

  void take(const Event& event, const CommitUncertain& uncertain) { job(uncertain.key).uncertain.push_back(&event); }

  void take(const Event& event, const Requested& request) {
    bool guessed = false;
    const std::optional<std::string> key = attribute(event, request, guessed);
    requests_[request.request] = {&event, key, guessed};
    if (!key) return;
    job(*key).requests.push_back(&event);
    Claims& claims = claims_[life_of(event)];
    std::erase(claims.open, *key);
    if (claims.last == *key) claims.requested = true;
    if (!guessed && !request.key.empty()) senders_[request.key].emplace(*key, &event);
  }

  void take(const Event& event, const Accepted& accepted) {
    const auto found = requests_.find(accepted.request);
    Origin origin;
    if (found != requests_.end()) origin = found->second;
    if (!origin.job && !accepted.key.empty()) origin.job = accepted.key;
    if (!origin.job || origin.guessed) {
      facts_.attribution_problems.push_back(fmt::format(
          "request {} from {} names no job that the ledger knows{}", accepted.request, who_and_when(event),
          origin.job ? fmt::format("; taken for {} out of several claimed ones", quote_key(*origin.job)) : ""));
    }
    if (!origin.job) return;
    Effect effect;
    effect.requested = origin.event;
    effect.accepted = &event;
    effect.deduplicated = accepted.deduplicated;
    effect.sent_key = accepted.key;
    job(*origin.job).effects.push_back(std::move(effect));
  }

  void take(const Event& event, const FaultFired& fault) {
    const bool holds = fault.text.starts_with("hold ") || fault.text.starts_with("then hold ");
    if (holds) held_[event.actor].push_back({.from = &event});
  }

  void take(const Event& event, const Released&) {
    released_[life_of(event)].push_back(&event);
    if (auto& holds = held_[event.actor]; !holds.empty()) holds.back().to = &event;
  }

  void take(const Event& event, const Responded& response) { responses_.emplace(response.request, &event); }

  // A worker that leaves by itself with code 0 knew what it did not mark: that is carelessness, not doubt.
  void take(const Event& event, const Ended& ended) {
    const bool by_itself = ended.how == Ended::How::exited && (ended.code == 0 || event.process != 0);
    if (by_itself || ended.how == Ended::How::ended_with_world) return;
    ended_.emplace(std::pair{life_of(event), event.process}, &event);
  }

  void share_keys() {
    for (const auto& [key, jobs] : senders_) {
      if (jobs.size() < 2) continue;
      for (const auto& [name, event] : jobs) {
        const auto other =
            std::find_if(jobs.begin(), jobs.end(), [&](const auto& entry) { return entry.first != name; });
        facts_.jobs.at(name).shared_keys.push_back(
            {.key = key, .other_job = other->first, .mine = event, .theirs = other->second});
      }
    }
    for (auto& [name, job] : facts_.jobs) {
      std::sort(job.shared_keys.begin(), job.shared_keys.end(),
                [](const SharedKey& a, const SharedKey& b) { return a.mine->seq < b.mine->seq; });
    }
  }

  void share_slots() {
    struct First {
      std::string job;
      const Event* event;
    };
    std::map<std::string, First> first;
    for (const auto& event : history_.events) {
      const auto* change = std::get_if<LedgerChanged>(&event.body);
      if (change == nullptr || change->slot.empty()) continue;
      const auto [found, fresh] = first.emplace(change->slot, First{change->key, &event});
      JobFacts& mine = facts_.jobs.at(change->key);
      if (fresh || found->second.job == change->key || mine.same_slot) continue;
      mine.same_slot = {
          .slot = change->slot, .other_job = found->second.job, .mine = &event, .theirs = found->second.event};
    }
  }

  bool is_known(const std::string& key) const { return facts_.known.contains(key); }

  std::optional<std::string> attribute(const Event& event, const Requested& request, bool& guessed) const {
    if (!request.job.empty() && is_known(request.job)) return request.job;
    if (!request.key.empty() && is_known(request.key)) return request.key;
    const auto claims = claims_.find(life_of(event));
    const bool names_one = !request.key.empty() || !request.job.empty();
    if (claims != claims_.end() && claims->second.any && !(claims->second.done && names_one)) {
      guessed = claims->second.open.size() > 1;
      return claims->second.open.empty() ? claims->second.last : claims->second.open.back();
    }
    if (!request.job.empty()) return request.job;
    if (!request.key.empty()) return request.key;
    return std::nullopt;
  }

  // The first event at which the incarnation could no longer learn what became of its effect.
  void settle_doubt(const JobFacts& facts, Effect& effect) const {
    const Event& accepted = *effect.accepted;
    const auto doubt = [&effect](const Event& event, std::string reason) {
      if (effect.doubt != nullptr && effect.doubt->seq <= event.seq) return;
      effect.doubt = &event;
      effect.doubt_reason = std::move(reason);
    };
    for (const int process : {0, accepted.process}) {
      const auto ended = ended_.find({life_of(accepted), process});
      if (accepted.actor.empty() || ended == ended_.end()) continue;
      doubt(*ended->second, fmt::format("{} died at {}", who(*ended->second), in_seconds(ended->second->at)));
    }
    const auto number = std::get<Accepted>(accepted.body).request;
    const auto answer = responses_.find(number);
    const Event* responded = answer == responses_.end() ? nullptr : answer->second;
    effect.answered = responded;
    if (responded != nullptr) {
      const auto& response = std::get<Responded>(responded->body);
      if (response.how == "drop" || response.how == "reset" || response.how == "half") {
        doubt(*responded, fmt::format("{} lost the response at {}", who(accepted), in_seconds(responded->at)));
      } else if (response.status < 200 || response.status > 299) {
        doubt(*responded,
              fmt::format("{} was answered {} at {}", who(accepted), response.status, in_seconds(responded->at)));
      }
    }
    effect.confirmed = responded != nullptr && is_whole_yes(std::get<Responded>(responded->body)) &&
                       !wait_ran_out(accepted, *responded);
    if (const Event* event = gave_up(effect.requested != nullptr ? *effect.requested : accepted, responded)) {
      doubt(*event, fmt::format("{} gave up waiting for the response before {}", who(accepted), in_seconds(event->at)));
    }
    if (const Event* taken = taken_while_held(facts, accepted))
      doubt(*taken, fmt::format("{} was stopped when {} had the job at {}", who(accepted),
                                taken->actor.empty() ? "the ledger" : who(*taken), in_seconds(taken->at)));
    const Event* mark = facts.first_mark();
    if (effect.doubt != nullptr && mark != nullptr && mark->seq < effect.doubt->seq) {
      effect.doubt = nullptr;
      effect.doubt_reason.clear();
    } else if (effect.doubt != nullptr) {
      effect.doubt_reason += ", before the job was marked";
    }
  }

  // The first change by somebody else after the sender's effect, if the plan kept the sender from knowing of it.
  const Event* taken_while_held(const JobFacts& facts, const Event& accepted) const {
    const auto holds = held_.find(accepted.actor);
    if (holds == held_.end()) return nullptr;
    for (const Event* change : facts.changes) {
      if (change->seq < accepted.seq) continue;
      if (life_of(*change) == life_of(accepted)) return nullptr;
      for (const Hold& hold : holds->second)
        if (hold.from->seq < change->seq && (hold.to == nullptr || change->seq < hold.to->seq)) return change;
      return nullptr;
    }
    return nullptr;
  }

  // The change by which the sender holds the job, then one by somebody else, then the end of a hold, then the request.
  const Event* late_since(const JobFacts& facts, const Effect& effect) const {
    if (effect.requested == nullptr) return nullptr;
    const auto released = released_.find(life_of(*effect.requested));
    if (released == released_.end()) return nullptr;
    const Event* mine = nullptr;
    const Event* taken = nullptr;
    for (const Event* change : facts.changes) {
      if (change->seq > effect.requested->seq) break;
      const bool is_mine = life_of(*change) == released->first;
      if (is_mine) mine = change;
      taken = is_mine ? nullptr : taken != nullptr ? taken : change;
    }
    if (mine == nullptr || taken == nullptr) return nullptr;
    for (const Event* release : released->second)
      if (release->seq > taken->seq && release->seq < effect.requested->seq) return release;
    return nullptr;
  }

  static bool is_whole_yes(const Responded& response) {
    return response.how == "full" && response.status >= 200 && response.status <= 299;
  }

  // The last wait of the incarnation before the response had a deadline that came before it: it may have stopped
  // waiting, even where nothing it does shows that yet.
  bool wait_ran_out(const Event& accepted, const Event& responded) const {
    Nanoseconds deadline{-1};
    for (const auto& event : history_.events) {
      if (event.seq >= responded.seq) break;
      const auto* wait = std::get_if<Waiting>(&event.body);
      if (wait != nullptr && life_of(event) == life_of(accepted)) deadline = wait->deadline;
    }
    return deadline > accepted.at && deadline < responded.at;
  }

  // A client that stopped waiting shows by going on: the incarnation makes another request or changes a row after a
  // timed wait ran out, and the response had not been sent. Going on without such a wait is no doubt but carelessness.
  const Event* gave_up(const Event& asked, const Event* responded) const {
    bool timed_out = false;
    Nanoseconds deadline{-1};
    for (const auto& event : history_.events) {
      if (responded != nullptr && event.seq > responded->seq) return nullptr;
      if (life_of(event) != life_of(asked)) continue;
      if (deadline > asked.at && event.at >= deadline) timed_out = true;
      if (const auto* wait = std::get_if<Waiting>(&event.body)) deadline = wait->deadline;
      if (event.seq <= asked.seq || !timed_out) continue;
      const auto* change = std::get_if<LedgerChanged>(&event.body);
      const bool renews = change != nullptr && change->from == JobState::leased && change->to == JobState::leased;
      if (std::holds_alternative<Requested>(event.body) || (change != nullptr && !renews)) return &event;
    }
    return nullptr;
  }

  struct Origin {
    const Event* event = nullptr;
    std::optional<std::string> job;
    bool guessed = false;
  };

  const History& history_;
  Facts facts_;
  std::map<Life, Claims> claims_;
  std::map<std::string, std::map<std::string, const Event*>> senders_;  // sent key -> job -> its first request with it
  std::map<std::uint64_t, Origin> requests_;
  std::map<std::uint64_t, const Event*> responses_;
  std::map<Life, std::vector<const Event*>> released_;
  struct Hold {
    const Event* from = nullptr;
    const Event* to = nullptr;  // null: until the end
  };
  std::map<std::string, std::vector<Hold>> held_;       // by actor
  std::map<std::pair<Life, int>, const Event*> ended_;  // by process of the tree, 0 its root
};

}  // namespace

std::vector<const Effect*> JobFacts::new_effects() const {
  std::vector<const Effect*> found;
  for (const auto& effect : effects) {
    if (!effect.deduplicated) found.push_back(&effect);
  }
  return found;
}

const Event* JobFacts::first_mark() const {
  for (const Event* event : changes) {
    const JobState to = std::get<LedgerChanged>(event->body).to;
    if (to == JobState::delivered || to == JobState::flagged) return event;
  }
  return nullptr;
}

const Event* JobFacts::last_claim() const {
  for (auto it = changes.rbegin(); it != changes.rend(); ++it) {
    if (std::get<LedgerChanged>((*it)->body).to == JobState::leased) return *it;
  }
  return nullptr;
}

Facts gather_facts(const History& history, const ContractTerms& terms) { return Gatherer(history, terms).run(); }

bool is_complete(const Finished& finished) {
  return finished.reason == "drained" || finished.reason == "horizon" || finished.reason == "all exited";
}

}  // namespace halfsent
