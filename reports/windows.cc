// The steps of an execution without faults, for an engineer who looks for a place to strike at.
#include <fmt/format.h>

#include <algorithm>

#include "harness/core/text.h"
#include "reports/layout.h"
#include "reports/terminal.h"

namespace halfsent {
namespace {

// What a row shows of an event; empty: the event is no step of its own.
struct Describe {
  // "connect downstream", "pwrite64 ledger.db-wal (offset 4096), 4120 bytes"
  std::string operator()(const Stopped& stop) const {
    std::string text = stop.call;
    if (!stop.object.empty()) text += " " + stop.object;
    if (!stop.detail.empty()) text += " (" + stop.detail + ")";
    if (stop.bytes > 0) text += fmt::format(", {}", count_of(static_cast<int>(stop.bytes), "byte"));
    if (stop.holds_ledger_lock) text += ", locked";
    return printable(text);
  }

  std::string operator()(const Requested& request) const {
    const std::string key = request.key.empty() ? "no key" : "key " + quote_key(request.key);
    return fmt::format("request {}: {} ({}{})", request.request, printable(request.method + " " + request.path), key,
                       request.attempt > 1 ? fmt::format(", attempt {}", request.attempt) : "");
  }

  std::string operator()(const Accepted& accepted) const {
    return fmt::format("accept of request {}{}", accepted.request, accepted.deduplicated ? ", a repeat" : "");
  }

  std::string operator()(const Responded& responded) const {
    std::string what = responded.status == 0 ? "" : std::to_string(responded.status);
    if (responded.how != "full") what += (what.empty() ? "" : ", ") + printable(responded.how);
    return fmt::format("answer to request {}: {}", responded.request, what);
  }

  // "4187:2026-W33 pending -> leased (attempt 1, lease until 60.000 s)"
  std::string operator()(const LedgerChanged& change) const {
    std::string text = fmt::format("{} {} -> {}", quote_key(change.key), to_string(change.from), to_string(change.to));
    std::string more;
    const auto add = [&more](const std::string& part) { more += (more.empty() ? "" : ", ") + part; };
    if (!change.raw_state.empty() && change.raw_state != to_string(change.to)) add(quote_key(change.raw_state));
    if (change.to == JobState::leased && change.attempts >= 0) add(fmt::format("attempt {}", change.attempts));
    if (change.to == JobState::leased && change.lease_until.count() >= 0)
      add("lease until " + seconds(change.lease_until));
    return more.empty() ? text : text + " (" + more + ")";
  }

  std::string operator()(const CommitUncertain& uncertain) const {
    return fmt::format("{} is {}; after a crash with nobody connected it would be {}", quote_key(uncertain.key),
                       to_string(uncertain.live), to_string(uncertain.cold));
  }

  std::string operator()(const Ended& ended) const {
    return ended.how == Ended::How::exited ? fmt::format("exits with code {}", ended.code)
                                           : fmt::format("ends by signal {}", ended.code);
  }

  std::string operator()(const Started&) const { return "starts"; }
  std::string operator()(const Note& note) const { return printable(note.text); }
  std::string operator()(const Finished& finished) const {
    return "end of the execution: " + printable(finished.reason);
  }

  template <class Other>
  std::string operator()(const Other&) const {
    return {};
  }
};

std::string names_of(Seq seq, std::span<const Boundary> boundaries) {
  const auto [first, last] = std::ranges::equal_range(boundaries, seq, {}, &Boundary::seq);
  std::string names;
  for (auto it = first; it != last; ++it) names += (it == first ? "" : ", ") + to_string(*it);
  return printable(names);
}

}  // namespace

std::string windows_table(const History& history, std::span<const Boundary> boundaries, const Style& style) {
  std::vector<std::vector<Cell>> rows = {{{"time", Paint::bold},
                                          {"actor", Paint::bold},
                                          {"process", Paint::bold},
                                          {"step", Paint::bold},
                                          {"names", Paint::bold}}};
  for (const Event& event : history.events) {
    const std::string step = std::visit(Describe{}, event.body);
    if (step.empty()) continue;
    const std::string actor =
        event.incarnation > 1 ? fmt::format("{} ({})", event.actor, event.incarnation) : event.actor;
    const bool ledger = std::holds_alternative<LedgerChanged>(event.body);
    rows.push_back({{fmt::format("{}.{:06}", event.at.count() / 1'000'000'000, event.at.count() / 1000 % 1'000'000)},
                    {printable(actor)},
                    {event.actor.empty() ? "" : std::to_string(event.process)},
                    {step, ledger ? Paint::bold : Paint::plain},
                    {names_of(event.seq, boundaries)}});
  }
  return table(rows, 3, style);
}

}  // namespace halfsent
