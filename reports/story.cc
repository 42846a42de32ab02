#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "harness/core/text.h"
#include "reports/layout.h"

namespace halfsent {
namespace {

constexpr std::size_t most_lines = 48;
constexpr std::size_t lines_at_the_end = 16;
constexpr Nanoseconds worth_telling = std::chrono::seconds{1};  // a shorter gap is not told as one

struct Line {
  Nanoseconds at{0};
  std::string who;
  std::string text;
  Paint how = Paint::plain;
  bool evidence = false;
  int waits_before = 0;  // waits since the line before
};

using Life = std::pair<std::string, int>;

// Where a job is while the story is told.
struct Row {
  JobState state = JobState::none;
  std::optional<Life> holder;
  Nanoseconds lease_until{-1};
  bool lease_told = true;  // that it ran out
  std::int64_t attempts = -1;
  int effects = 0;
};

std::string name_of(const Life& life) {
  if (life.first.empty()) return "world";
  return life.second > 1 ? fmt::format("{} ({})", printable(life.first), life.second) : printable(life.first);
}

class Teller {
 public:
  Teller(const History& history, const Verdict& verdict, std::string_view key) : history_(history) {
    if (!key.empty()) {
      jobs_.emplace(key);
    } else {
      const auto worst = std::find_if(verdict.keys.begin(), verdict.keys.end(),
                                      [](const KeyVerdict& k) { return is_violation(k.kind); });
      if (worst != verdict.keys.end()) jobs_.insert(worst->key);
      // No job violates, but the run does: the job on which it shows, if it is a matter of one.
      if (worst == verdict.keys.end() && !verdict.broken.empty() && !verdict.broken.front().key.empty())
        jobs_.insert(verdict.broken.front().key);
    }
    for (const auto& broken : verdict.broken) evidence_.insert(broken.evidence.begin(), broken.evidence.end());
    for (const auto& k : verdict.keys) {
      if (jobs_.empty() || jobs_.contains(k.key)) evidence_.insert(k.evidence.begin(), k.evidence.end());
    }
    for (const auto& event : history.events) {
      if (const auto* change = std::get_if<LedgerChanged>(&event.body)) ledger_keys_.insert(change->key);
    }
  }

  std::vector<Line> tell() {
    for (const auto& event : history_.events) {
      tell_leases_until(event.at);
      event_ = &event;
      std::visit([this](const auto& body) { on(body); }, event.body);
    }
    return std::move(lines_);
  }

 private:
  [[nodiscard]] bool is_told(const std::string& key) const { return jobs_.empty() || jobs_.contains(key); }

  // A request whose key is no job's may be for the job that is told.
  [[nodiscard]] bool is_told(const Requested& request) const {
    if (jobs_.empty() || jobs_.contains(request.key) || jobs_.contains(request.job)) return true;
    return !ledger_keys_.contains(request.key) && !ledger_keys_.contains(request.job);
  }

  [[nodiscard]] Life life() const { return {event_->actor, event_->incarnation}; }

  [[nodiscard]] std::string actor() const {
    std::string name = name_of(life());
    if (event_->process > 0) name += fmt::format("/{}", event_->process);
    return name;
  }

  void say(std::string who, std::string text, Paint how = Paint::plain) {
    lines_.push_back({.at = event_->at,
                      .who = std::move(who),
                      .text = std::move(text),
                      .how = how,
                      .evidence = evidence_.contains(event_->seq),
                      .waits_before = std::exchange(waits_, 0)});
  }

  // What the event's process does. That it outlived the first process of its tree is told once.
  void say_done(const std::string& text) {
    const bool newly = is_orphan() && told_orphans_.insert({life(), event_->process}).second;
    say(actor(), newly ? "now an orphan, " + text : text);
  }

  [[nodiscard]] bool is_orphan() const { return event_->process > 0 && ended_roots_.contains(life()); }

  void tell_leases_until(Nanoseconds now) {
    for (auto& [key, row] : rows_) {
      if (row.lease_told || row.state != JobState::leased || row.lease_until > now || !row.holder) continue;
      row.lease_told = true;
      lines_.push_back({.at = row.lease_until,
                        .who = "ledger",
                        .text = fmt::format("the lease of {} on {} runs out", name_of(*row.holder), quote_key(key)),
                        .how = Paint::plain,
                        .evidence = false,
                        .waits_before = std::exchange(waits_, 0)});
    }
  }

  void on(const Started&) {
    // Actors that start together share a line.
    if (event_->incarnation <= 1 && !lines_.empty() && lines_.back().text == "starts" &&
        lines_.back().at == event_->at) {
      lines_.back().who += ", " + actor();
    } else {
      say(actor(),
          event_->incarnation <= 1 ? "starts" : fmt::format("starts again as incarnation {}", event_->incarnation));
    }
  }

  void on(const Stopped&) { uncertain_.clear(); }
  void on(const Waiting&) { ++waits_; }

  void on(const Requested& request) {
    told_requests_[request.request] = is_told(request);
    requesters_[request.request] = life();
    if (!is_told(request)) return;
    request_jobs_[request.request] = request.job.empty() ? request.key : request.job;
    const std::string what = request.job.empty() || request.job == request.key ? "" : " for " + quote_key(request.job);
    const std::string key = request.key.empty() ? "without a key" : "with key " + quote_key(request.key);
    say_done(fmt::format("sends request {}{} {}{}", request.request, what, key,
                         request.client_retry ? " (its client library sent it again)" : ""));
  }

  void on(const Accepted& accepted) {
    const auto told = told_requests_.find(accepted.request);
    if (told == told_requests_.end() ? !is_told(accepted.key) : !told->second) return;
    const auto from = requesters_.find(accepted.request);
    const std::string sender = from == requesters_.end() ? "" : " from " + name_of(from->second);
    if (accepted.deduplicated) {
      say("downstream", fmt::format("recognises request {}{}: no new effect", accepted.request, sender));
      return;
    }
    const int effects =
        ++rows_[request_jobs_.contains(accepted.request) ? request_jobs_[accepted.request] : accepted.key].effects;
    say("downstream", fmt::format("accepts request {}{}{}", accepted.request, sender,
                                  effects > 1 ? fmt::format(": effect {}", effects) : ""));
  }

  void on(const Responded& response) {
    const auto told = told_requests_.find(response.request);
    if (told == told_requests_.end() ? !is_told(response.key) : !told->second) return;
    if (response.how == "full" && response.status >= 200 && response.status <= 299) return;
    const bool nothing = response.how == "drop" || response.how == "reset";
    say("downstream", nothing
                          ? fmt::format("gives no answer to request {} ({})", response.request, printable(response.how))
                          : fmt::format("answers request {} with {}{}", response.request, response.status,
                                        response.how == "full" ? "" : " (" + printable(response.how) + ")"));
  }

  void on(const LedgerChanged& change) {
    Row& row = rows_[change.key];
    const Row before = row;
    row.state = change.to;
    if (change.attempts >= 0) row.attempts = change.attempts;
    if (change.to == JobState::leased) {
      row.holder = life();
      row.lease_until = change.lease_until;
      row.lease_told = change.lease_until.count() < 0;
    }
    if (!is_told(change.key)) return;
    const std::string text = change.to == JobState::leased ? claim_text(change, before) : change_text(change, before);
    event_->actor.empty() ? say("ledger", text) : say_done(text);
  }

  [[nodiscard]] std::string claim_text(const LedgerChanged& change, const Row& before) const {
    const std::string key = quote_key(change.key);
    const std::string until = change.lease_until.count() < 0 ? "" : "lease until " + seconds(change.lease_until);
    const bool counted = change.attempts >= 0 && change.attempts != before.attempts;
    if (change.from == JobState::leased && before.holder == life() && !counted) {
      return fmt::format("renews its lease on {}{}", key, until.empty() ? "" : ": " + until);
    }
    std::string text = "claims " + key;
    if (change.from == JobState::leased && before.holder) {
      text += " from " + name_of(*before.holder);
      if (before.lease_until.count() >= 0) {
        text += before.lease_until <= event_->at ? ", whose lease has run out"
                                                 : ", WHOSE LEASE RUNS UNTIL " + seconds(before.lease_until);
      }
    }
    std::string details = change.attempts < 0 ? "" : fmt::format("attempt {}", change.attempts);
    if (!until.empty()) details += (details.empty() ? "" : ", ") + until;
    return details.empty() ? text : fmt::format("{} ({})", text, details);
  }

  [[nodiscard]] std::string change_text(const LedgerChanged& change, const Row& before) const {
    const std::string key = quote_key(change.key);
    const bool outside = event_->actor.empty();
    const bool stale = !outside && before.state == JobState::leased && before.holder && *before.holder != life();
    const std::string although = stale ? fmt::format(", which {} has claimed since", name_of(*before.holder)) : "";
    switch (change.to) {
      case JobState::pending:
        if (change.from == JobState::none) return outside ? fmt::format("{} is pending", key) : "schedules " + key;
        return fmt::format("puts {} back to pending{}", key, although);
      case JobState::none:
        return fmt::format("removes the row of {}{}", key, although);
      case JobState::unlisted:
        return fmt::format("sets {} to {}, a state the scenario does not list{}", key, quote_key(change.raw_state),
                           although);
      default:
        return fmt::format("marks {} {}{}", key, to_string(change.to), although);
    }
  }

  void on(const CommitUncertain& uncertain) {
    if (is_told(uncertain.key)) {
      uncertain_ = fmt::format("the commit is uncertain: those connected read {} as {}, after a crash of all it is {}",
                               quote_key(uncertain.key), to_string(uncertain.live), to_string(uncertain.cold));
    }
  }

  void on(const FaultFired& fault) {
    if (!uncertain_.empty()) say("ledger", std::exchange(uncertain_, {}));
    struck_[event_->actor] = event_->at;
    say("FAULT", printable(fault.text), Paint::warn);
  }

  void on(const Released&) {
    const auto since = struck_.find(event_->actor);
    say(actor(), since == struck_.end() ? "runs again" : "runs again after " + seconds(event_->at - since->second));
  }

  void on(const Ended& ended) {
    if (event_->process == 0) ended_roots_.insert(life());
    // A process for each step and its good end is how some workers work.
    const bool usual = event_->process > 0 && ended.how == Ended::How::exited && ended.code == 0;
    if (usual && !is_orphan()) return;
    switch (ended.how) {
      case Ended::How::killed_by_plan:
        return say(actor(), "is killed" + what_the_ledger_says());
      case Ended::How::exited:
        return say_done(ended.code == 0 ? "exits" : fmt::format("exits with code {}", ended.code));
      case Ended::How::signalled:
        return say_done(fmt::format("is ended by signal {}{}", ended.code, what_the_ledger_says()));
      case Ended::How::ended_with_world:
        return;
    }
  }

  [[nodiscard]] std::string what_the_ledger_says() const {
    if (jobs_.size() != 1) return "";
    const auto row = rows_.find(*jobs_.begin());
    if (row == rows_.end() || row->second.state == JobState::none) return "; the ledger has no row";
    return fmt::format("; the ledger says {}", to_string(row->second.state));
  }

  void on(const Note& note) { say("note", printable(note.text), Paint::dim); }

  void on(const Finished& finished) {
    say("end", printable(finished.detail.empty() ? finished.reason : finished.reason + ": " + finished.detail));
  }

  const History& history_;
  const Event* event_ = nullptr;
  std::set<std::string> jobs_;  // told; empty: all
  std::set<std::string> ledger_keys_;
  std::set<Seq> evidence_;
  std::vector<Line> lines_;
  std::map<std::string, Row> rows_;
  std::map<std::uint64_t, bool> told_requests_;
  std::map<std::uint64_t, Life> requesters_;
  std::map<std::uint64_t, std::string> request_jobs_;
  std::set<Life> ended_roots_;  // lives whose first process is dead
  std::set<std::pair<Life, int>> told_orphans_;
  std::map<std::string, Nanoseconds> struck_;  // when a fault last struck the actor
  std::string uncertain_;
  int waits_ = 0;
};

// Line numbers to print; a gap stands for lines that are left out.
std::vector<std::size_t> chosen(std::size_t count) {
  std::vector<std::size_t> numbers;
  for (std::size_t i = 0; i < count; ++i) {
    if (count <= most_lines || i < most_lines - lines_at_the_end || i >= count - lines_at_the_end) numbers.push_back(i);
  }
  return numbers;
}

}  // namespace

std::string story(const History& history, const Verdict& verdict, const Style& style, std::string_view key) {
  const std::vector<Line> lines = Teller(history, verdict, key).tell();
  std::size_t time_width = 0;
  std::size_t who_width = 0;
  for (const auto& line : lines) {
    time_width = std::max(time_width, seconds(line.at).size());
    who_width = std::max(who_width, std::min<std::size_t>(display_width(line.who), 24));
  }
  const auto width = style.width > 0 ? static_cast<std::size_t>(style.width) : 0;
  std::string out;
  const Line* before = nullptr;
  std::size_t next = 0;
  for (const std::size_t number : chosen(lines.size())) {
    const Line& line = lines[number];
    const std::string margin(time_width + 2, ' ');
    if (number != next) {
      out += paint(fmt::format("{}  ({} lines left out)", margin, number - next), Paint::dim, style) + "\n";
    } else if (before != nullptr && line.at - before->at >= worth_telling) {
      const std::string waits = line.waits_before == 0 ? "" : fmt::format(" ({})", count_of(line.waits_before, "wait"));
      out += paint(fmt::format("{}  ... {} pass{}", margin, seconds(line.at - before->at), waits), Paint::dim, style) +
             "\n";
    }
    const std::string text = fmt::format("{} {:>{}}  {}  {}", line.evidence ? '>' : ' ', seconds(line.at), time_width,
                                         pad(line.who, who_width), line.text);
    out += paint(cut(text, width), line.evidence ? Paint::bold : line.how, style) + "\n";
    before = &line;
    next = number + 1;
  }
  return out.empty() ? "nothing happened\n" : out;
}

}  // namespace halfsent
