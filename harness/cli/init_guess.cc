#include "harness/cli/init_guess.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>

#include "harness/cli/init_words.h"

namespace halfsent::init {
namespace {

using Values = std::vector<std::string>;

const std::string null_word = "NULL";

std::optional<double> number(const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

// The values of a column over a row's life, each once in a row.
Values life_of(const RowStory& story, std::size_t column) {
  Values life;
  for (const RowVersion& version : story.versions) {
    if (column >= version.values.size()) continue;
    std::string value = plain(version.values[column]);
    if (life.empty() || life.back() != value) life.push_back(std::move(value));
  }
  return life;
}

std::vector<const RowStory*> moved_rows(const std::string& table, const std::vector<RowStory>& stories) {
  std::vector<const RowStory*> moved;
  for (const RowStory& story : stories)
    if (story.table == table && story.versions.size() > 1) moved.push_back(&story);
  return moved;
}

std::optional<std::size_t> index_of(const Table& table, const std::string& column) {
  for (std::size_t i = 0; i < table.columns.size(); ++i)
    if (table.columns[i].name == column) return i;
  return std::nullopt;
}

bool contains(const Values& values, const std::string& value) {
  return std::ranges::find(values, value) != values.end();
}

void add(Values& values, const std::string& value) {
  if (!contains(values, value)) values.push_back(value);
}

// --- which column is the state

// A moment, or the name of somebody: no word of a state.
bool is_no_word(const std::string& value) {
  const std::optional<double> as_number = number(value);
  return (as_number && std::abs(*as_number) > 1000) || value.size() > 40 ||
         value.find("worker-") != std::string::npos || (value.size() >= 10 && value[4] == '-' && value[7] == '-');
}

int score_by_schema(const Column& column) {
  int score = 0;
  const std::optional<ColumnRole> role = usual_role(column);
  if (role == ColumnRole::state) score += 6;
  if (role && role != ColumnRole::state) score -= 10;
  if (column.primary_key > 0 || column.unique) score -= 10;
  if (column.allowed.size() > 1) score += 2;
  const auto means_something = [](const std::string& word) { return usual_meaning(word).has_value(); };
  if (std::ranges::any_of(column.allowed, means_something)) score += 3;
  if (usual_meaning(plain(column.default_sql))) score += 4;
  return score;
}

int score_by_life(const std::vector<const RowStory*>& moved, std::size_t column) {
  if (moved.empty()) return 0;
  std::set<std::string> all;
  std::set<std::string> last;
  std::size_t changed = 0;
  std::size_t longest = 0;
  for (const RowStory* story : moved) {
    const Values life = life_of(*story, column);
    all.insert(life.begin(), life.end());
    if (!life.empty()) last.insert(life.back());
    changed += life.size() > 1 ? 1 : 0;
    longest = std::max(longest, life.size());
  }
  if (std::ranges::any_of(all, is_no_word) || all.size() > 8) return -20;
  if (changed == 0) return -4;
  int score = changed == moved.size() ? 4 : 0;
  score += last.size() == 1 ? 2 : -2;
  score += longest > 2 ? 2 : 0;
  score += std::ranges::none_of(all, [](const std::string& value) { return number(value).has_value(); }) ? 2 : 0;
  return score;
}

constexpr int enough = 5;

// --- what its words mean

JobState last_meaning(const std::string& word) { return usual_meaning(word).value_or(JobState::unlisted); }

void place_words_seen(LedgerGuess& guess, const std::vector<const RowStory*>& moved, std::size_t column) {
  std::vector<Values> lives;
  for (const RowStory* story : moved)
    if (Values life = life_of(*story, column); life.size() > 1) lives.push_back(std::move(life));
  // How rows end is delivered, unless its name says that it went wrong or is not the end.
  for (const Values& life : lives) {
    const JobState meaning = last_meaning(life.back());
    const bool cut_off = life.size() == 2 && (meaning == JobState::leased || meaning == JobState::pending);
    if (cut_off && meaning == JobState::leased) add(guess.leased, life.back());
    if (!cut_off) add(meaning == JobState::flagged ? guess.flagged : guess.delivered, life.back());
  }
  // The end of one row may be the middle of another whose life the trial cut off.
  for (const Values& life : lives)
    for (std::size_t i = 1; i + 1 < life.size(); ++i)
      if (life[i] != life.front() && !contains(guess.delivered, life[i])) add(guess.leased, life[i]);
  std::erase_if(guess.delivered, [&](const std::string& word) { return contains(guess.leased, word); });
  for (const Values& life : lives)
    if (!contains(guess.leased, life.front()) && !contains(guess.delivered, life.front()))
      add(guess.pending, life.front());
  guess.claim_seen = !guess.leased.empty();
  guess.delivery_seen = !guess.delivered.empty();
}

void place_other_words(LedgerGuess& guess, const Values& words) {
  for (const std::string& word : words) {
    const bool known = contains(guess.pending, word) || contains(guess.leased, word) ||
                       contains(guess.delivered, word) || contains(guess.flagged, word);
    if (known) continue;
    const std::optional<JobState> meaning = usual_meaning(word);
    if (!meaning) {
      add(guess.unclear, word);
    } else if (*meaning == JobState::pending) {
      guess.pending.push_back(word);
    } else if (*meaning == JobState::leased) {
      guess.leased.push_back(word);
    } else {
      (*meaning == JobState::delivered ? guess.delivered : guess.flagged).push_back(word);
    }
  }
}

// --- attempts and lease

// The versions at which a row was claimed: the first at which anything changed.
std::vector<std::pair<const RowVersion*, const RowVersion*>> claims_in(const std::vector<const RowStory*>& moved) {
  std::vector<std::pair<const RowVersion*, const RowVersion*>> claims;
  for (const RowStory* story : moved) claims.emplace_back(story->versions.data(), story->versions.data() + 1);
  return claims;
}

bool counts_claims(const std::vector<const RowStory*>& moved, std::size_t column) {
  return !moved.empty() && std::ranges::all_of(claims_in(moved), [&](const auto& claim) {
    const double before = number(plain(claim.first->values[column])).value_or(0);
    const std::optional<double> after = number(plain(claim.second->values[column]));
    return after && *after == before + 1 && std::abs(*after) < 1000;
  });
}

void guess_attempts(LedgerGuess& guess, const Table& table, const std::vector<const RowStory*>& moved) {
  for (const Column& column : table.columns)
    if (usual_role(column) == ColumnRole::attempts && guess.attempts_column.empty())
      guess.attempts_column = column.name;
  for (std::size_t i = 0; i < table.columns.size() && guess.attempts_column.empty(); ++i)
    if (!usual_role(table.columns[i]) && table.columns[i].name != guess.state_column && counts_claims(moved, i))
      guess.attempts_column = table.columns[i].name;
}

struct Moment {
  double seconds = 0;
  std::string sql;  // of the column, in seconds since the epoch
};

// A value that can only be a moment, as epoch seconds: of some plausible year.
std::optional<Moment> moment(const std::string& value, const std::string& column) {
  constexpr double from = 1e9;
  constexpr double to = 6e9;
  if (const std::optional<double> count = number(value)) {
    if (*count >= from && *count < to) return Moment{*count, column};
    if (*count >= from * 1e3 && *count < to * 1e3) return Moment{*count / 1e3, column + " / 1000.0"};
    if (*count >= from * 1e6 && *count < to * 1e6) return Moment{*count / 1e6, column + " / 1000000.0"};
    return std::nullopt;
  }
  int year = 0, month = 0, day = 0, hour = 0, minute = 0;
  double second = 0;
  char between = 0;
  if (std::sscanf(value.c_str(), "%4d-%2d-%2d%c%2d:%2d:%lf", &year, &month, &day, &between, &hour, &minute, &second) <
      6)
    return std::nullopt;
  // The day does not matter: see lease_between.
  return Moment{hour * 3600.0 + minute * 60.0 + second, fmt::format("unixepoch({})", column)};
}

// From the moment of a claim to that in the column. A world starts at midnight, so days need not be known; leases are
// shorter than one.
double lease_between(Nanoseconds at, double moment_s) {
  constexpr double day_s = 86400;
  const double now_s = std::chrono::duration<double>(at).count();
  const double difference = std::fmod(moment_s - now_s, day_s);
  return difference < -1.5 ? difference + day_s : difference;
}

void guess_lease(LedgerGuess& guess, const Table& table, const std::vector<const RowStory*>& moved) {
  int best = 0;
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    const Column& column = table.columns[i];
    const std::optional<ColumnRole> role = usual_role(column);
    const bool by_name = role == ColumnRole::lease_end || role == ColumnRole::lease_start;
    if (role && !by_name) continue;
    LedgerGuess of_column{.lease_column = column.name, .lease_sql = sql_name(column.name)};
    int score = by_name ? 2 : 0;
    for (const auto& [before, claim] : claims_in(moved)) {
      if (before->values[i] == claim->values[i]) continue;
      const std::optional<Moment> value = moment(plain(claim->values[i]), sql_name(column.name));
      if (!value) continue;
      const double lease_s = lease_between(claim->at, value->seconds);
      of_column.lease_sql = value->sql;
      of_column.lease_is_start = lease_s <= 1.5;
      if (!of_column.lease_is_start) of_column.lease = std::chrono::seconds{std::llround(std::ceil(lease_s - 0.01))};
      score = (by_name ? 4 : 1) + (of_column.lease_is_start ? 0 : 2);
      break;
    }
    if (score <= best) continue;
    best = score;
    guess.lease_column = of_column.lease_column;
    guess.lease_sql = of_column.lease_sql;
    guess.lease = of_column.lease;
    guess.lease_is_start = of_column.lease_is_start || (!of_column.lease && role == ColumnRole::lease_start);
  }
}

// --- tables without a state word for a claim, or without any

// The column that is empty until a claim fills it, when the state column does not show claims.
std::string claim_mark(const Table& table, const std::vector<const RowStory*>& moved, const std::string& lease_column) {
  const auto is_mark = [&](std::size_t i) {
    return !moved.empty() && std::ranges::all_of(claims_in(moved), [&](const auto& claim) {
      const std::string before = plain(claim.first->values[i]);
      const std::string after = plain(claim.second->values[i]);
      return (before == null_word || before.empty() || before == "0") && after != before;
    });
  };
  if (const auto lease = index_of(table, lease_column); lease && is_mark(*lease)) return lease_column;
  for (std::size_t i = 0; i < table.columns.size(); ++i)
    if (usual_role(table.columns[i]) == ColumnRole::holder && is_mark(i)) return table.columns[i].name;
  return {};
}

std::string is_set(const std::string& column) {
  return fmt::format("coalesce({}, 0) NOT IN (0, '')", sql_name(column));
}

std::string done_mark(const Table& table) {
  for (const Column& column : table.columns)
    if (usual_role(column) == ColumnRole::done_at) return column.name;
  return {};
}

void tell_claims_apart(LedgerGuess& guess, const Table& table, const std::vector<const RowStory*>& moved) {
  const std::string mark = claim_mark(table, moved, guess.lease_column);
  if (guess.state_column.empty()) {
    const std::string done = done_mark(table);
    if (done.empty()) return;
    const std::string claimed = mark.empty() ? "" : fmt::format("WHEN {} THEN 'leased' ", is_set(mark));
    guess.state_sql = fmt::format("CASE WHEN {} THEN 'delivered' {}ELSE 'pending' END", is_set(done), claimed);
    guess.pending = {"pending"};
    guess.delivered = {"delivered"};
    guess.delivery_seen = !moved.empty();
    guess.claim_seen = !mark.empty();
    if (guess.claim_seen) guess.leased = {"leased"};
  } else if (guess.leased.empty() && !mark.empty() && !guess.pending.empty()) {
    const std::string state = sql_name(guess.state_column);
    guess.state_sql = fmt::format("CASE WHEN {} IN ({}) AND {} THEN 'leased' ELSE {} END", state,
                                  sql_text(guess.pending.front()), is_set(mark), state);
    guess.leased = {"leased"};
    guess.claim_seen = true;
  }
}

// The column, or for a key of several columns all of them together.
void guess_key_column(LedgerGuess& guess, const Table& table, const std::string& seen) {
  guess.key_column = seen;
  std::vector<const Column*> keys;
  for (const Column& column : table.columns) {
    if (column.primary_key > 0) keys.push_back(&column);
    // A number that SQLite gives is the last choice: a name that the product gives says more.
    if (seen.empty() && column.unique && !column.rowid && guess.key_column.empty()) guess.key_column = column.name;
  }
  if (guess.key_column.empty() && keys.size() == 1) guess.key_column = keys.front()->name;
  if (!guess.key_column.empty()) {
    guess.key_sql = sql_name(guess.key_column);
    return;
  }
  for (const Column* column : keys)
    guess.key_sql += (guess.key_sql.empty() ? "" : " || ':' || ") + sql_name(column->name);
  if (guess.key_sql.empty()) guess.key_sql = table.rowid;
}

}  // namespace

std::string plain(const std::string& literal) {
  if (literal.size() >= 3 && (literal[0] == 'X' || literal[0] == 'x') && literal[1] == '\'') {
    std::string bytes;
    for (std::size_t i = 2; i + 2 < literal.size(); i += 2) {
      unsigned value = 0;
      std::from_chars(literal.data() + i, literal.data() + i + 2, value, 16);
      bytes += static_cast<char>(value);
    }
    return bytes;
  }
  if (literal.empty() || literal[0] != '\'') return literal;
  std::string text;
  for (std::size_t i = 1; i < literal.size(); ++i) {
    if (literal[i] == '\'' && (i + 1 >= literal.size() || literal[i + 1] != '\'')) break;
    if (literal[i] == '\'') ++i;
    text += literal[i];
  }
  return text;
}

const Column* guess_state_column(const Table& table, const std::vector<RowStory>& stories) {
  const std::vector<const RowStory*> moved = moved_rows(table.name, stories);
  const Column* best = nullptr;
  int best_score = enough - 1;
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    const int score = score_by_schema(table.columns[i]) + score_by_life(moved, i);
    if (score <= best_score) continue;
    best_score = score;
    best = &table.columns[i];
  }
  return best;
}

std::string guess_table(const std::vector<Table>& tables, const std::vector<RowStory>& stories) {
  std::string best;
  int best_score = enough - 1;
  for (const Table& table : tables) {
    int score = guess_state_column(table, stories) != nullptr ? 6 : 0;
    for (const Column& column : table.columns) {
      const std::optional<ColumnRole> role = usual_role(column);
      if (role == ColumnRole::lease_end || role == ColumnRole::lease_start) score += 3;
      if (role == ColumnRole::attempts || role == ColumnRole::done_at) score += 2;
    }
    if (sounds_like_jobs(table.name)) score += 2;
    if (score > 0 && !moved_rows(table.name, stories).empty()) score += 20;  // more than all that names can say
    if (score <= best_score) continue;
    best_score = score;
    best = table.name;
  }
  return best;
}

LedgerGuess guess_ledger(const Table& table, const std::vector<RowStory>& stories,
                         const std::vector<ReceivedRequest>& requests, const KnownWords& words) {
  LedgerGuess guess{.table = table.name};
  const std::vector<const RowStory*> moved = moved_rows(table.name, stories);
  guess_key_column(guess, table, guess_key(table, stories, requests).key_column);
  if (const Column* state = guess_state_column(table, stories)) {
    guess.state_column = state->name;
    guess.state_sql = sql_name(state->name);
    place_words_seen(guess, moved, *index_of(table, state->name));
  }
  guess_attempts(guess, table, moved);
  guess_lease(guess, table, moved);
  if (!guess.claim_seen) tell_claims_apart(guess, table, moved);
  if (guess.state_column.empty()) return guess;
  const std::size_t column = *index_of(table, guess.state_column);
  Values known = table.columns[column].allowed;
  if (!table.columns[column].default_sql.empty()) add(known, plain(table.columns[column].default_sql));
  if (const auto of_table = words.find(table.name); of_table != words.end())
    if (const auto of_column = of_table->second.find(guess.state_column); of_column != of_table->second.end())
      for (const std::string& word : of_column->second) add(known, word);
  place_other_words(guess, known);
  return guess;
}

}  // namespace halfsent::init
