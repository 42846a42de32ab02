#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "harness/core/boundary.h"
#include "harness/core/plan.h"
#include "harness/core/plan_words.h"

namespace halfsent {
namespace {

struct Position {
  int line = 1;
  int column = 1;
};

struct Word {
  std::string text;     // without quotes, unescaped
  bool quoted = false;  // written as a JSON string
  Position at;
};

// What stands between two separators. `end` is where the next word would be expected.
struct Clause {
  std::vector<Word> words;
  Position end;
};

Error bad_plan(Position at, std::string message, std::string mend = {}) {
  return Error{.code = ExitCode::usage,
               .message = std::move(message),
               .mend = std::move(mend),
               .line = at.line,
               .column = at.column};
}

class Splitter {
 public:
  explicit Splitter(std::string_view text) : text_(text) {}

  Result<std::vector<Clause>> split() {
    std::vector<Clause> clauses(1);
    bool at_line_start = true;
    while (!done()) {
      const char c = peek();
      if (c == '\n' || c == ';') {
        clauses.back().end = here_;
        clauses.emplace_back();
        at_line_start = c == '\n';
        next();
      } else if (is_space(c)) {
        next();
      } else if (c == '#' && at_line_start) {
        while (!done() && peek() != '\n') next();
      } else {
        at_line_start = false;
        auto word = c == '"' ? quoted() : Result<Word>(bare());
        if (!word) return word.error();
        clauses.back().words.push_back(*std::move(word));
      }
    }
    clauses.back().end = here_;
    std::erase_if(clauses, [](const Clause& clause) { return clause.words.empty(); });
    return clauses;
  }

 private:
  static bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r'; }
  [[nodiscard]] bool done() const { return offset_ == text_.size(); }
  [[nodiscard]] char peek() const { return text_[offset_]; }

  void next() {
    const char c = text_[offset_++];
    if (c == '\n') {
      here_ = {here_.line + 1, 1};
    } else if (done() || (static_cast<unsigned char>(peek()) & 0xc0) != 0x80) {
      ++here_.column;  // continuation bytes belong to the character before them
    }
  }

  Word bare() {
    Word word{.text = {}, .quoted = false, .at = here_};
    while (!done() && !is_space(peek()) && peek() != '\n' && peek() != ';' && peek() != '"') {
      word.text += peek();
      next();
    }
    return word;
  }

  Result<Word> quoted() {
    const Position start = here_;
    const std::size_t begin = offset_;
    if (begin > 0 && is_part_of_word(text_[begin - 1])) {
      return bad_plan(start, "a quote stands inside a word",
                      "put the whole word in quotes, with \\\" for a quote in it");
    }
    next();
    while (!done() && peek() != '"') {
      if (peek() == '\\') next();
      if (!done()) next();
    }
    if (done()) return bad_plan(start, "this quote is never closed", "end the JSON string with a quote");
    next();
    auto string = parse_json_string(text_.substr(begin, offset_ - begin));
    if (!string) return bad_plan(start, string.error().message, string.error().mend);
    if (!done() && is_part_of_word(peek())) {
      return bad_plan(here_, "text follows a closing quote without a space", "separate words with a space");
    }
    return Word{.text = *std::move(string), .quoted = true, .at = start};
  }

  static bool is_part_of_word(char c) { return !is_space(c) && c != '\n' && c != ';'; }

  std::string_view text_;
  std::size_t offset_ = 0;
  Position here_;
};

template <class Range>
std::vector<std::string> as_strings(const Range& names) {
  std::vector<std::string> out;
  for (const auto& name : names) out.emplace_back(name);
  return out;
}

// "did you mean 'X'? Known: ..."
std::string suggestion(std::string_view word, const std::vector<std::string>& known) {
  const std::string near = nearest(word, known);
  return fmt::format("{}known: {}", near.empty() ? "" : fmt::format("did you mean '{}'? ", near),
                     fmt::join(known, ", "));
}

template <class T>
std::optional<T> whole_number(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// Takes the words of one clause from left to right. Each parser returns the first complaint, or nothing.
class ClauseParser {
 public:
  using Complaint = std::optional<Error>;

  explicit ClauseParser(const Clause& clause) : clause_(clause) {}

  Complaint parse_into(Plan& plan, bool& has_seed) {
    const Position start = clause_.words.front().at;
    const bool then = take("then");
    if (!peek())
      return bad_plan(clause_.end, "a fault is expected after 'then'", "write it as: then ACTION TARGET ...");
    const Word action = clause_.words[index_++];
    const auto fault = std::ranges::find_if(
        fault_table(), [&action](const FaultInfo& known) { return !action.quoted && known.name == action.text; });
    if (fault != fault_table().end()) {
      const bool follows = std::ranges::any_of(plan.faults, [](const Fault& before) { return before.at.has_value(); });
      plan.faults.push_back({.kind = fault->kind, .then = then});
      syntax_ = fault->syntax;
      if (auto complaint = this->fault(*fault, plan.faults.back())) return complaint;
      if (then && (!follows || !plan.faults.back().at))
        return bad_plan(start, "'then' stands before a fault at a boundary, after another one",
                        "leave it out, or say 'at BOUNDARY' in both");
    } else if (action.text == "seed" && !action.quoted && !then) {
      syntax_ = "seed N";
      if (std::exchange(has_seed, true)) return bad_plan(action.at, "the plan has two seeds", "keep one of them");
      if (auto complaint = seed(plan.seed)) return complaint;
    } else {
      return unknown_action(action);
    }
    return no_more();
  }

  Complaint parse_scenario(Plan& plan) {
    syntax_ = "scenario NAME";
    const Word& word = clause_.words[index_++];
    if (word.text != "scenario" || word.quoted) {
      return bad_plan(word.at, fmt::format("a plan begins with its scenario, not with '{}'", shorten(word.text)),
                      "write 'scenario NAME;' first");
    }
    if (auto complaint = name("the scenario's name", plan.scenario)) return complaint;
    return no_more();
  }

 private:
  [[nodiscard]] const Word* peek() const { return index_ < clause_.words.size() ? &clause_.words[index_] : nullptr; }
  [[nodiscard]] bool peek_is(std::string_view word) const { return peek() && !peek()->quoted && peek()->text == word; }
  [[nodiscard]] bool peek_is_number() const { return peek() && !peek()->quoted && peek()->text.starts_with('#'); }
  bool take(std::string_view word) {
    if (!peek_is(word)) return false;
    ++index_;
    return true;
  }

  // "X is expected" at the next word or, when there is none, at the end of the clause.
  [[nodiscard]] Error expected(std::string_view what) const {
    const std::string found = peek() ? fmt::format(", not '{}'", shorten(peek()->text)) : "";
    return bad_plan(peek() ? peek()->at : clause_.end, fmt::format("{} is expected here{}", what, found), usage());
  }
  [[nodiscard]] std::string usage() const { return fmt::format("write it as: {}", syntax_); }

  [[nodiscard]] Complaint no_more() const {
    if (!peek()) return std::nullopt;
    const std::vector<std::string> later = {"at", std::string(for_word)};
    const std::string near = peek()->quoted ? "" : nearest(peek()->text, later);
    return bad_plan(
        peek()->at, fmt::format("'{}' is not expected here", shorten(peek()->text)),
        near.empty() || near == peek()->text ? usage() : fmt::format("did you mean '{}'? {}", near, usage()));
  }

  static Error unknown_action(const Word& action) {
    if (action.text.starts_with('#')) {
      return bad_plan(action.at, "a comment stands on a line of its own", "begin a new line before '#'");
    }
    if (action.text == "scenario") {
      return bad_plan(action.at, "the plan has two scenarios", "keep one of them; a plan is about one scenario");
    }
    std::vector<std::string> known = {"seed"};
    for (const FaultInfo& fault : fault_table()) known.emplace_back(fault.name);
    return bad_plan(action.at, fmt::format("'{}' is not an action", shorten(action.text)),
                    suggestion(action.text, known));
  }

  // A bare word or a JSON string.
  Complaint name(std::string_view what, std::string& value) {
    const Word* word = peek();
    if (!word) return expected(what);
    if (!word->quoted && !std::ranges::all_of(word->text, is_bare)) {
      return bad_plan(word->at, fmt::format("'{}' is not a bare word", shorten(word->text)),
                      "write it as a JSON string in quotes; bare words are of A-Z a-z 0-9 : . _ -");
    }
    value = word->text;
    ++index_;
    return std::nullopt;
  }

  Complaint seed(std::uint64_t& value) {
    const auto number = peek() && !peek()->quoted ? whole_number<std::uint64_t>(peek()->text) : std::nullopt;
    if (!number) return expected("a whole number from 0 to 18446744073709551615");
    value = *number;
    ++index_;
    return std::nullopt;
  }

  Complaint fault(const FaultInfo& known, Fault& out) {
    if (auto complaint = target(known, out)) return complaint;
    if (auto complaint = value(out)) return complaint;
    if (take("at")) {
      if (auto complaint = anchor(known, out.at.emplace())) return complaint;
    } else if (known.needs_anchor) {
      return expected("'at BOUNDARY'");
    }
    if (known.needs_duration && !peek_is(for_word)) return expected("'for D'");
    if ((known.needs_duration || known.kind == FaultKind::refuse) && take(for_word)) {
      return duration("a duration above 0", Nanoseconds(1), out.duration);
    }
    return std::nullopt;
  }

  Complaint target(const FaultInfo& known, Fault& out) {
    const bool is_actor = known.target == FaultInfo::Target::actor;
    const std::string_view word = known.target == FaultInfo::Target::ledger ? ledger_word : downstream_word;
    if (!is_actor && !peek_is(word)) return expected(fmt::format("'{}'", word));
    for (const std::string_view other : {downstream_word, ledger_word}) {
      if (!is_actor || !peek() || peek()->text != other) continue;
      return bad_plan(peek()->at, fmt::format("'{}' strikes an actor, not the {}", known.name, other), usage());
    }
    if (peek() && peek()->text.empty()) return expected("the name of an actor");
    return name("the name of an actor", out.target);
  }

  Complaint value(Fault& out) {
    switch (out.kind) {
      case FaultKind::kill:
        for (std::size_t i = 0; i < kill_scope_names.size(); ++i) {
          const Word* scope = peek();
          if (take(kill_scope_names[i])) {
            if (out.target == all_actors && static_cast<KillScope>(i) != KillScope::tree) {
              return bad_plan(scope->at, fmt::format("'kill {}' takes whole trees, not a {}", all_actors, scope->text),
                              fmt::format("leave out '{}', or name one actor", scope->text));
            }
            out.scope = static_cast<KillScope>(i);
            break;
          }
        }
        return std::nullopt;
      case FaultKind::status: {
        const auto number = peek() && !peek()->quoted ? whole_number<int>(peek()->text) : std::nullopt;
        if (!number || *number < 200 || *number > 599) return expected("a final HTTP status from 200 to 599");
        out.status = *number;
        ++index_;
        return std::nullopt;
      }
      case FaultKind::io_error:
        for (std::size_t i = 0; i < io_error_names.size(); ++i) {
          if (!take(io_error_names[i])) continue;
          out.io_error = static_cast<IoError>(i);
          return std::nullopt;
        }
        return expected(fmt::format("'{}'", fmt::join(io_error_names, "' or '")));
      case FaultKind::failover: {
        const auto number = peek() && !peek()->quoted ? whole_number<int>(peek()->text) : std::nullopt;
        if (!number || *number < 0) return expected("how many transactions are lost, from 0,");
        out.lost = *number;
        ++index_;
        return std::nullopt;
      }
      case FaultKind::skew:
      case FaultKind::step:
        return duration("a duration", Nanoseconds::min(), out.duration);
      case FaultKind::restart:
        for (std::size_t i = 0; i < restart_mode_names.size(); ++i) {
          if (!take(restart_mode_names[i])) continue;
          out.restart = static_cast<RestartMode>(i);
          if (out.restart != RestartMode::after) return std::nullopt;
          return duration("a duration from 0", Nanoseconds(0), out.duration);
        }
        return expected("'after D', 'never' or 'while_peer_lives'");
      default:
        return std::nullopt;
    }
  }

  Complaint duration(std::string_view what, Nanoseconds least, Nanoseconds& value) {
    if (!peek() || peek()->quoted) return expected(what);
    const auto parsed = parse_duration(peek()->text);
    if (!parsed) return bad_plan(peek()->at, parsed.error().message, parsed.error().mend);
    if (*parsed < least) return expected(what);
    value = *parsed;
    ++index_;
    return std::nullopt;
  }

  Complaint anchor(const FaultInfo& known, Anchor& at) {
    const Word* boundary = peek();
    if (auto complaint = name("the name of a boundary", at.boundary)) return complaint;
    if (auto complaint = check_boundary(known, *boundary)) return complaint;
    if (peek() && !peek_is_number() && !peek_is(for_word)) {
      if (auto complaint = name("a key", at.key)) return complaint;
    }
    if (!peek_is_number()) return std::nullopt;
    const auto number = whole_number<int>(std::string_view(peek()->text).substr(1));
    if (!number || *number < 1) return expected("a number from #1");
    at.occurrence = *number;
    ++index_;
    return std::nullopt;
  }

  static Complaint check_boundary(const FaultInfo& known, const Word& boundary) {
    std::vector<std::string> names;
    if (known.target == FaultInfo::Target::downstream) {
      names = {"before_accept", "after_accept"};
    } else {
      if (boundary.text.starts_with(announced_prefix)) return std::nullopt;
      for (const BoundaryInfo& info : boundary_table()) names.emplace_back(info.name);
    }
    if (std::ranges::find(names, boundary.text) != names.end()) return std::nullopt;
    return bad_plan(boundary.at,
                    fmt::format("'{}' is not a boundary {}", shorten(boundary.text),
                                known.target == FaultInfo::Target::downstream ? "of the downstream" : "that is known"),
                    suggestion(boundary.text, names));
  }

  const Clause& clause_;
  std::size_t index_ = 0;
  std::string_view syntax_;
};

}  // namespace

Result<Plan> parse_plan(std::string_view text) {
  auto clauses = Splitter(text).split();
  if (!clauses) return clauses.error();
  if (clauses->empty()) return bad_plan({}, "the plan is empty", "write 'scenario NAME;' first");
  Plan plan;
  bool has_seed = false;
  if (auto complaint = ClauseParser(clauses->front()).parse_scenario(plan)) return *std::move(complaint);
  for (std::size_t i = 1; i < clauses->size(); ++i) {
    if (auto complaint = ClauseParser((*clauses)[i]).parse_into(plan, has_seed)) return *std::move(complaint);
  }
  return plan;
}

}  // namespace halfsent
