#include "harness/contract/operations.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "harness/contract/job_facts.h"
#include "harness/contract/sentences.h"

namespace halfsent {
namespace {

using Life = std::pair<std::string, int>;  // actor and incarnation

Life life_of(const Event& event) { return {event.actor, event.incarnation}; }

// The incarnation: of a worker of many processes any may have made the claim.
std::string holder_of(Event event) {
  event.process = 0;
  return who(event);
}

struct Lease {
  Life life;
  std::string holder;
  Seq seq = no_seq;
  Nanoseconds since{0};   // the claim or the last renewal
  Nanoseconds until{-1};  // negative: it never runs out
  std::int64_t attempts = -1;
  std::optional<std::pair<Nanoseconds, Seq>> died;  // the holder, and its last event
  [[nodiscard]] bool has_run_out(Nanoseconds at) const { return until.count() >= 0 && at >= until; }
};

// What the row was from `at` until the next step.
struct Step {
  Nanoseconds at{0};
  JobState state = JobState::none;
  Nanoseconds lease_until{-1};
  std::int64_t claims = 0;
};

struct Track {
  JobOperations job;
  bool seen = false;  // eligible ever
  std::int64_t claims = 0;
  std::optional<Lease> lease;
  std::vector<Step> steps;
};

// Follows the rows through a history.
class Watcher {
 public:
  Watcher(const History& history, const ContractTerms& terms) : history_(history), terms_(terms) {}

  Operations run() {
    for (const Event& event : history_.events) {
      if (const auto* change = std::get_if<LedgerChanged>(&event.body)) take(event, *change);
      if (std::holds_alternative<Ended>(event.body) && event.process == 0) mourn(event);
      said_.end = std::max(said_.end, event.at);
    }
    for (auto& [key, track] : tracks_)
      if (track.lease) end_lease(track, said_.end, no_seq);
    measure_jobs(gather_facts(history_, terms_));
    draw_series();
    return std::move(said_);
  }

 private:
  void take(const Event& event, const LedgerChanged& change) {
    Track& track = tracks_[change.key];
    const bool claimable = change.to == JobState::pending || change.to == JobState::leased;
    if (claimable && !std::exchange(track.seen, true)) {
      track.job.eligible = event.at;
      track.job.eligible_seq = event.seq;
    }
    const bool renewed = track.lease && renews(*track.lease, event, change);
    if (track.lease && !renewed) {
      if (is_early(*track.lease, event, change)) {
        ++said_.early_takeovers;
        said_.early_evidence.insert(said_.early_evidence.end(), {track.lease->seq, event.seq});
      }
      end_lease(track, event.at, event.seq);
    }
    if (renewed && track.lease->has_run_out(event.at)) end_lease(track, event.at, event.seq);
    if (change.to == JobState::leased) {
      if (!renewed) ++track.claims;
      track.lease = Lease{.life = life_of(event),
                          .holder = holder_of(event),
                          .seq = event.seq,
                          .since = event.at,
                          .until = change.lease_until,
                          .attempts = change.attempts,
                          .died = std::nullopt};
    }
    track.job.key = change.key;
    track.job.state = change.to;
    track.job.attempts = change.attempts >= 0 ? change.attempts : track.claims;
    track.steps.push_back(
        {.at = event.at, .state = change.to, .lease_until = change.lease_until, .claims = track.claims});
  }

  // A claim counts an attempt; where the ledger shows none, what the holder does before the lease runs out is no claim.
  static bool renews(const Lease& lease, const Event& event, const LedgerChanged& change) {
    if (change.to != JobState::leased || life_of(event) != lease.life) return false;
    return change.attempts >= 0 ? change.attempts == lease.attempts : !lease.has_run_out(event.at);
  }

  // The world itself (a failover) takes nothing over.
  static bool is_early(const Lease& lease, const Event& event, const LedgerChanged& change) {
    if (event.actor.empty() || lease.life.first.empty() || lease.until.count() < 0 || event.at >= lease.until)
      return false;
    if (change.to == JobState::leased) return life_of(event) != lease.life;
    return change.to == JobState::pending && event.actor != lease.life.first;
  }

  void mourn(const Event& event) {
    const auto how = std::get<Ended>(event.body).how;
    if (how == Ended::How::ended_with_world) return;
    for (auto& [key, track] : tracks_)
      if (track.lease && track.lease->life == life_of(event) && !track.lease->died)
        track.lease->died = {event.at, event.seq};
  }

  void end_lease(Track& track, Nanoseconds at, Seq by) {
    const Lease lease = *std::exchange(track.lease, std::nullopt);
    const bool expired = lease.has_run_out(at);
    if (expired) ++said_.expired_leases;
    if (!expired && !lease.died) return;
    const bool died_first = lease.died && !lease.has_run_out(lease.died->first);
    Span block{.key = track.job.key,
               .holder = lease.holder,
               .from = died_first ? lease.died->first : lease.since,
               .to = at,
               .open = by == no_seq,
               .evidence = {lease.seq}};
    if (died_first) block.evidence.push_back(lease.died->second);
    if (by != no_seq) block.evidence.push_back(by);
    said_.blocks.push_back(std::move(block));
  }

  void measure_jobs(const Facts& facts) {
    for (const auto& [key, job] : facts.jobs) {
      for (const Effect& effect : job.effects) ++(effect.deduplicated ? said_.recognised : said_.effects);
      for (const Event* request : job.requests) {
        if (std::get<Requested>(request->body).key == key) continue;
        ++said_.other_keys;
        said_.other_keys_evidence.push_back(request->seq);
      }
      const auto found = tracks_.find(key);
      if (found == tracks_.end() || !found->second.seen) continue;
      said_.jobs.push_back(found->second.job);
      said_.delays.push_back(delay_of(job, found->second.job));
    }
    std::sort(said_.other_keys_evidence.begin(), said_.other_keys_evidence.end());
  }

  Span delay_of(const JobFacts& job, const JobOperations& row) const {
    Span delay{.key = row.key,
               .holder = {},
               .from = row.eligible,
               .to = said_.end,
               .open = true,
               .evidence = {row.eligible_seq}};
    const auto effects = job.new_effects();
    const Event* until = effects.empty() ? nullptr : effects.front()->accepted;
    if (until == nullptr && job.state == JobState::flagged) until = job.last_change();
    if (until == nullptr) return delay;
    delay.to = std::max(until->at, delay.from);
    delay.open = false;
    delay.evidence.push_back(until->seq);
    return delay;
  }

  std::set<Nanoseconds> moments() const {
    std::set<Nanoseconds> at;
    for (const auto& [key, track] : tracks_) {
      for (const Step& step : track.steps) {
        at.insert(step.at);
        if (step.state == JobState::leased && step.lease_until > step.at) at.insert(step.lease_until);
      }
      if (track.seen && terms_.objectives.pending_target)
        at.insert(track.job.eligible + *terms_.objectives.pending_target);
    }
    at.erase(at.upper_bound(said_.end), at.end());
    return at;
  }

  void draw_series() {
    std::map<std::string, std::size_t> passed;  // how many steps of each job
    for (const Nanoseconds at : moments()) {
      BoardPoint point{.at = at};
      for (const auto& [key, track] : tracks_) {
        std::size_t& step = passed[key];
        while (step < track.steps.size() && track.steps[step].at <= at) ++step;
        if (step > 0) count(track, track.steps[step - 1], point);
      }
      BoardPoint before = said_.series.empty() ? BoardPoint{} : said_.series.back();
      before.at = at;
      if (said_.series.empty() || before != point) said_.series.push_back(point);
    }
  }

  void count(const Track& track, const Step& step, BoardPoint& point) const {
    point.attempts += step.claims;
    const bool expired =
        step.state == JobState::leased && step.lease_until.count() >= 0 && point.at >= step.lease_until;
    if (step.state == JobState::pending) ++point.pending;
    if (step.state == JobState::leased) ++(expired ? point.expired : point.leased);
    if (step.state == JobState::delivered) ++point.delivered;
    if (step.state == JobState::flagged) ++point.flagged;
    const Nanoseconds since = track.job.eligible;
    const bool open = step.state == JobState::pending || step.state == JobState::leased;
    if (open && terms_.objectives.pending_target && point.at >= since + *terms_.objectives.pending_target)
      ++point.past_target;
    const bool waiting = step.state == JobState::pending || expired;
    if (waiting && (point.oldest_waiting.count() < 0 || since < point.oldest_waiting)) point.oldest_waiting = since;
  }

  const History& history_;
  const ContractTerms& terms_;
  std::map<std::string, Track> tracks_;
  Operations said_;
};

const Span* longest(const std::vector<Span>& spans) {
  const auto found = std::max_element(spans.begin(), spans.end(),
                                      [](const Span& a, const Span& b) { return a.length() < b.length(); });
  return found == spans.end() ? nullptr : &*found;
}

}  // namespace

const Span* Operations::longest_delay() const { return longest(delays); }

const Span* Operations::longest_block() const { return longest(blocks); }

Nanoseconds Operations::oldest_pending() const {
  if (series.empty() || series.back().oldest_waiting.count() < 0) return Nanoseconds{0};
  return end - series.back().oldest_waiting;
}

Nanoseconds Operations::greatest_oldest_pending() const {
  Nanoseconds greatest{0};
  for (std::size_t i = 0; i < series.size(); ++i) {
    const Nanoseconds until = i + 1 < series.size() ? series[i + 1].at : end;
    if (series[i].oldest_waiting.count() >= 0) greatest = std::max(greatest, until - series[i].oldest_waiting);
  }
  return greatest;
}

Operations watch(const History& history, const ContractTerms& terms) { return Watcher(history, terms).run(); }

}  // namespace halfsent
