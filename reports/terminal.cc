#include "reports/terminal.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "harness/core/text.h"
#include "reports/layout.h"

namespace halfsent {
namespace {

constexpr std::size_t most_jobs = 8;

std::string field(std::string_view name, std::string_view text, Paint how, const Style& style) {
  return fmt::format("{}  {}\n", paint(pad(name, 12), how, style), text);
}

std::string upper(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return out;
}

int count_kind(const Verdict& verdict, VerdictKind kind) {
  return static_cast<int>(
      std::count_if(verdict.keys.begin(), verdict.keys.end(), [kind](const KeyVerdict& k) { return k.kind == kind; }));
}

std::string violations(const Verdict& verdict, const Style& style) {
  std::string out;
  std::size_t shown = 0;
  std::size_t left_out = 0;
  for (const auto& key : verdict.keys) {
    if (!is_violation(key.kind)) continue;
    if (++shown > most_jobs) {
      ++left_out;
      continue;
    }
    out += field(upper(to_string(key.kind)), quote_key(key.key), Paint::bad, style);
    out += field("  why", printable(key.why), Paint::plain, style);
  }
  if (left_out > 0) out += field("", fmt::format("and {} more jobs", left_out), Paint::plain, style);
  return out;
}

// Invariants of the run, after those of jobs.
std::string broken(const Verdict& verdict, const Style& style) {
  std::string out;
  for (std::size_t i = 0; i < verdict.broken.size() && i < most_jobs; ++i) {
    const RunViolation& violation = verdict.broken[i];
    const std::string key = violation.key.empty() ? "" : ", " + quote_key(violation.key);
    out += field("BROKEN", violation.invariant + key, Paint::bad, style);
    out += field("  why", printable(violation.why), Paint::plain, style);
  }
  if (verdict.broken.size() > most_jobs)
    out += field("", fmt::format("and {} more", verdict.broken.size() - most_jobs), Paint::plain, style);
  return out;
}

}  // namespace

std::string replay_line(const Plan& plan) {
  std::string quoted = "'";
  for (const char c : printable(to_string(plan))) {
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      quoted += c;
    }
  }
  return "halfsent replay " + quoted + "'\n";
}

std::string earned_line(const Verdict& verdict, const Style& style) {
  const bool earned = verdict.inconclusive.empty() && verdict.not_reached.empty() && !verdict.keys.empty();
  const bool violated = is_violated(verdict);
  std::string line = violated ? "violated" : earned ? "held" : "not earned";
  line = paint(line, violated ? Paint::bad : earned ? Paint::good : Paint::warn, style);
  line +=
      fmt::format(": {} once, {} flagged; {}, {} recognised; {} of {} fired",
                  count_of(count_kind(verdict, VerdictKind::once), "job"), count_kind(verdict, VerdictKind::flagged),
                  count_of(verdict.accepted, "effect"), count_of(verdict.deduplicated, "repeat"), verdict.faults_fired,
                  count_of(verdict.faults_planned, "fault"));
  if (verdict.last_terminal.count() > 0) line += "; settled at " + seconds(verdict.last_terminal);
  if (verdict.keys.empty()) line += "; no job was judged";
  return line + "\n";
}

std::string judged_line(const Verdict& verdict) {
  std::string line = count_of(static_cast<int>(verdict.judged.size()), "invariant");
  std::string_view before = "; not ";
  for (const NotJudged& left_out : verdict.not_judged) {
    line += fmt::format("{}{} ({})", before, left_out.invariant, printable(left_out.why));
    before = ", ";
  }
  return line;
}

std::string verdict_block(const Verdict& verdict, const Plan& plan, const Style& style) {
  std::string out =
      is_violated(verdict) ? violations(verdict, style) + broken(verdict, style) : earned_line(verdict, style);
  for (const auto& text : verdict.inconclusive) out += field("INCONCLUSIVE", printable(text), Paint::warn, style);
  for (const auto& text : verdict.not_reached) out += field("NOT REACHED", printable(text), Paint::warn, style);
  for (const auto& text : verdict.notes) out += field("note", printable(text), Paint::dim, style);
  if (!verdict.judged.empty()) out += field("judged", judged_line(verdict), Paint::dim, style);
  out += field("plan", printable(to_string(plan)), Paint::plain, style);
  const std::string replay = replay_line(plan);
  return out + field("replay", std::string_view(replay).substr(0, replay.size() - 1), Paint::plain, style);
}

std::string worker_output(std::string_view actor, int incarnation, std::string_view text, std::size_t max_lines,
                          const Style& style) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  std::string out =
      paint(fmt::format("output of {} (incarnation {})", printable(actor), incarnation), Paint::bold, style);
  out += lines.empty() ? ": none\n" : ":\n";
  const std::size_t first = lines.size() > max_lines ? lines.size() - max_lines : 0;
  if (first > 0) out += fmt::format("  ({} earlier)\n", count_of(static_cast<int>(first), "line"));
  for (std::size_t i = first; i < lines.size(); ++i) out += fmt::format("  {}\n", printable(lines[i]));
  return out;
}

}  // namespace halfsent
