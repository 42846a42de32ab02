#include "harness/cli/init_words.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <span>
#include <vector>

namespace halfsent::init {
namespace {

// "LockedUntil", "locked-until" and "locked until" have the parts locked and until.
std::vector<std::string> parts_of(std::string_view name) {
  std::vector<std::string> parts(1);
  bool small_before = false;
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) == 0) {
      if (!parts.back().empty()) parts.emplace_back();
      small_before = false;
      continue;
    }
    if (std::isupper(byte) != 0 && small_before) parts.emplace_back();
    small_before = std::islower(byte) != 0;
    parts.back() += static_cast<char>(std::tolower(byte));
  }
  if (parts.back().empty()) parts.pop_back();
  return parts;
}

using Words = std::span<const std::string_view>;

bool has(const std::vector<std::string>& parts, Words words) {
  return std::ranges::any_of(
      parts, [&](const std::string& part) { return std::ranges::find(words, std::string_view(part)) != words.end(); });
}

constexpr std::array<std::string_view, 26> flagged_words = {
    "dead",     "failed",    "failure",       "fail",    "error",    "errored", "exhausted",  "review",      "manual",
    "rejected", "abandoned", "undeliverable", "poison",  "poisoned", "parked",  "quarantine", "quarantined", "blocked",
    "bounced",  "cancelled", "canceled",      "expired", "doubt",    "unknown", "flagged",    "gave"};
constexpr std::array<std::string_view, 16> delivered_words = {
    "sent", "delivered", "done",      "complete", "completed", "finished", "success", "succeeded",
    "ok",   "processed", "published", "acked",    "confirmed", "shipped",  "closed",  "posted"};
constexpr std::array<std::string_view, 19> leased_words = {
    "leased",   "locked", "claimed",    "sending",   "running", "processing", "progress",
    "working",  "taken",  "reserved",   "active",    "started", "busy",       "picked",
    "inflight", "flight", "delivering", "executing", "assigned"};
constexpr std::array<std::string_view, 14> pending_words = {"pending",   "new",       "queued", "ready",    "waiting",
                                                            "created",   "scheduled", "retry",  "retrying", "open",
                                                            "available", "unsent",    "due",    "enqueued"};

constexpr std::array<std::string_view, 4> state_names = {"state", "status", "phase", "stage"};
constexpr std::array<std::string_view, 8> attempt_names = {"attempt", "attempts", "try",   "tries",
                                                           "retry",   "retries",  "fails", "failures"};
constexpr std::array<std::string_view, 20> claim_names = {
    "lease", "leased", "lock",    "locked",    "claim",      "claimed", "hold",  "held", "reserve",    "reserved",
    "taken", "picked", "visible", "invisible", "visibility", "owned",   "owner", "busy", "processing", "started"};
constexpr std::array<std::string_view, 8> end_names = {"until",      "expires", "expiry",   "expire",
                                                       "expiration", "timeout", "deadline", "visible"};
constexpr std::array<std::string_view, 2> time_names = {"at", "time"};
constexpr std::array<std::string_view, 8> holder_names = {"by",    "owner", "worker", "holder",
                                                          "token", "fence", "epoch",  "generation"};
constexpr std::array<std::string_view, 14> job_names = {"job",     "jobs",     "outbox",        "queue",     "task",
                                                        "tasks",   "mail",     "mails",         "message",   "messages",
                                                        "webhook", "webhooks", "notifications", "deliveries"};

}  // namespace

std::optional<JobState> usual_meaning(std::string_view word) {
  const std::vector<std::string> parts = parts_of(word);
  // "delivery_failed" is flagged and "not_sent" is pending: the words that change others come first.
  if (has(parts, flagged_words)) return JobState::flagged;
  static constexpr std::array<std::string_view, 3> negations = {"not", "un", "to"};
  if (has(parts, negations)) return JobState::pending;
  if (has(parts, leased_words)) return JobState::leased;
  if (has(parts, pending_words)) return JobState::pending;
  if (has(parts, delivered_words)) return JobState::delivered;
  return std::nullopt;
}

std::optional<ColumnRole> usual_role(const Column& column) {
  const std::vector<std::string> parts = parts_of(column.name);
  if (parts.empty()) return std::nullopt;
  const bool is_time = has(parts, time_names);
  if (has(parts, end_names) && (has(parts, claim_names) || parts.size() == 1)) return ColumnRole::lease_end;
  if (is_time && has(parts, claim_names)) return ColumnRole::lease_start;
  if (has(parts, holder_names)) return ColumnRole::holder;
  if (has(parts, state_names)) return ColumnRole::state;
  static constexpr std::array<std::string_view, 1> next = {"next"};
  if (has(parts, attempt_names) && !is_time && !has(parts, next)) return ColumnRole::attempts;
  if (is_time && has(parts, delivered_words)) return ColumnRole::done_at;
  return std::nullopt;
}

bool sounds_like_jobs(std::string_view table) { return has(parts_of(table), job_names); }

bool sounds_like_idempotency_key(std::string_view name) {
  std::string joined;
  for (const std::string& part : parts_of(name)) joined += part;
  return joined.find("idempoten") != std::string::npos || joined.find("dedup") != std::string::npos;
}

}  // namespace halfsent::init
