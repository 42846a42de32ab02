#include "harness/contract/row_changes.h"

#include <algorithm>

namespace halfsent {
namespace {

bool differs(const std::string& before, const std::string& now) { return !now.empty() && before != now; }

bool takes_over(const LedgerChanged& before, const LedgerChanged& now, const std::optional<Life>& holder,
                const RowChange& change) {
  // Who writes its name into a row that it has just leased claims nothing new.
  const bool signs = before.owner.empty() && holder == change.by;
  if (differs(before.token, now.token) || (differs(before.owner, now.owner) && !signs)) return true;
  if (before.attempts >= 0 && now.attempts > before.attempts) return true;
  if (!now.token.empty() || !holder || *holder == change.by) return false;
  return before.lease_until.count() < 0 || before.lease_until <= change.event->at + ledger_resolution;
}

// The change that a dead process had begun and a recovery finished or took back.
const Event* unfinished(const JobFacts& job, const Event& event, const LedgerChanged& change, const Event* previous) {
  for (auto it = job.uncertain.rbegin(); it != job.uncertain.rend(); ++it) {
    if ((*it)->seq > event.seq) continue;
    if (previous != nullptr && (*it)->seq < previous->seq) return nullptr;
    const auto& uncertain = std::get<CommitUncertain>((*it)->body);
    const bool same = uncertain.live == change.from && uncertain.cold == change.to;
    return same && life_of(**it) != life_of(event) && !(*it)->actor.empty() ? *it : nullptr;
  }
  return nullptr;
}

// Who goes on as its holder has made the change itself, be it the same as what a dead one had begun.
bool goes_on_as_holder(const JobFacts& job, std::size_t index, const std::optional<Life>& holder) {
  const Event& event = *job.changes[index];
  if (holder == life_of(event)) return true;
  const Seq next = index + 1 < job.changes.size() ? job.changes[index + 1]->seq : no_seq;
  return std::any_of(job.requests.begin(), job.requests.end(), [&](const Event* request) {
    return request->seq > event.seq && request->seq < next && life_of(*request) == life_of(event);
  });
}

// Exactly the row that was there before.
bool restores(const LedgerChanged* before, LedgerChanged now) {
  if (before == nullptr) return now.to == JobState::none;
  now.from = before->from;
  return now == *before;
}

}  // namespace

std::vector<RowChange> row_changes(const JobFacts& job) {
  std::vector<RowChange> changes;
  std::optional<Life> holder;
  const LedgerChanged* before = nullptr;
  for (std::size_t i = 0; i < job.changes.size(); ++i) {
    const Event* event = job.changes[i];
    const auto& now = std::get<LedgerChanged>(event->body);
    const Event* begun = unfinished(job, *event, now, i == 0 ? nullptr : job.changes[i - 1]);
    if (begun != nullptr && goes_on_as_holder(job, i, holder)) begun = nullptr;
    if (begun != nullptr && i + 1 < job.changes.size() &&
        restores(before, std::get<LedgerChanged>(job.changes[i + 1]->body))) {
      ++i;
      continue;
    }
    RowChange change{.event = event, .now = &now, .before = before, .by = life_of(*event), .holder_before = holder};
    if (begun != nullptr) {
      change.by = life_of(*begun);
      change.recovered = true;
    }
    if (now.to == JobState::leased) {
      const bool was_leased = before != nullptr && before->to == JobState::leased;
      change.is_claim = was_leased ? takes_over(*before, now, holder, change) : !change.by.actor.empty();
      if (change.is_claim) holder = change.by;
      if (!was_leased && !change.is_claim) holder.reset();
    } else {
      holder.reset();
    }
    change.holder = holder;
    before = now.to == JobState::none ? nullptr : &now;
    changes.push_back(std::move(change));
  }
  return changes;
}

std::size_t count_claims(const std::vector<RowChange>& changes) {
  return static_cast<std::size_t>(
      std::count_if(changes.begin(), changes.end(), [](const RowChange& change) { return change.is_claim; }));
}

bool was_its_sender(const JobFacts& job, const Life& life, Seq step) {
  return std::any_of(job.effects.begin(), job.effects.end(), [&](const Effect& effect) {
    const bool in_doubt = effect.doubt != nullptr && effect.doubt->seq < step;
    return life_of(*effect.accepted) == life && !in_doubt;
  });
}

}  // namespace halfsent
