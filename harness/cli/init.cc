#include "harness/cli/init.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <optional>
#include <sstream>

#include "harness/cli/campaign.h"
#include "harness/cli/commands.h"
#include "harness/cli/init_guess.h"
#include "harness/cli/init_input.h"
#include "harness/cli/init_jobs.h"
#include "harness/cli/init_schema.h"
#include "harness/cli/init_toml.h"
#include "harness/cli/init_trial.h"
#include "harness/cli/stored_run.h"
#include "harness/contract/judge.h"
#include "harness/core/text.h"
#include "harness/world/scratch_folder.h"

namespace halfsent::init {
namespace {

namespace fs = std::filesystem;

// Virtual time of a trial in which nothing is known yet: several polls, and a lease or two that run out.
constexpr Nanoseconds blind_horizon = std::chrono::minutes{10};
constexpr std::uint16_t usual_port = 8080;

void say(const std::string& text) { std::fwrite(text.data(), 1, text.size(), stdout); }

// What is going on, while results are still to come.
void talk(const std::string& text) {
  std::fflush(stdout);
  std::fwrite(text.data(), 1, text.size(), stderr);
}

Error usage(std::string message, std::string mend) {
  return {.code = ExitCode::usage, .message = std::move(message), .mend = std::move(mend)};
}

// All that was found out so far, and where.
struct Search {
  Input input;
  fs::path scratch;
  std::optional<LedgerCopy> ledger = {};
  std::string made_up = {};  // SQL of jobs, when the ledger's own do not move
  std::uint16_t port = usual_port;
  Trial trial = {};
  std::vector<RowStory> stories = {};
  Sketch sketch = {};
};

std::string last_line(const std::string& output) {
  std::istringstream lines(output);
  std::string last;
  for (std::string line; std::getline(lines, line);)
    if (line.find_first_not_of(" \t\r") != std::string::npos) last = line;
  return last;
}

Scenario blind_scenario(const Search& search, const std::string& setup, const std::string& rows) {
  Scenario scenario;
  scenario.name = search.input.name;
  scenario.files = search.input.files;
  scenario.horizon = blind_horizon;
  scenario.ledger.path = search.input.ledger_path;
  scenario.ledger.setup = setup;
  scenario.ledger.rows = rows;
  scenario.downstream.port = search.port;
  scenario.actors.push_back({.name = "worker", .count = 1, .command = search.input.command, .env = search.input.env});
  return scenario;
}

// Nothing can be learned from a worker that ends before it has done anything.
Result<void> check_worker(const Search& search, const Trial& trial) {
  const fs::path live = fs::absolute(search.input.ledger).lexically_normal();
  for (const Event& event : trial.history.events) {
    const auto* note = std::get_if<Note>(&event.body);
    if (note == nullptr || !note->text.ends_with(": " + live.string())) continue;
    return usage("the worker opened the live ledger " + printable(live.string()) + " for writing in a trial run",
                 "its path must not be fixed in the worker: let it take a path relative to its folder");
  }
  const std::optional<int> end = end_of_worker(trial.history);
  if (!end || *end == 0 || !trial.requests.empty()) return {};
  const std::string said = last_line(trial.output);
  return usage(fmt::format("the worker ended with {} in a trial run and had sent nothing{}", *end,
                           said.empty() ? "" : ": " + printable(said)),
               "it runs in a folder with what --files or the command names, and with the variables of --env only");
}

// Runs the worker on a ledger that has `setup`; when it asks for another port, once more with that one open.
Result<Trial> run_blind(Search& search, const std::string& setup, const std::string& rows, const fs::path& keep = {}) {
  for (int tries = 0;; ++tries) {
    Result<Trial> trial = run_trial(blind_scenario(search, setup, rows), "", keep);
    if (!trial) return trial.error();
    const std::vector<std::uint16_t> ports = foreign_ports(trial->history);
    if (reached_downstream(trial->history) || ports.empty() || tries == 1) return trial;
    search.port = ports.front();
  }
}

// The ledger as a copy of ours: of the given file, or of the one that the worker makes in a world.
Result<void> find_ledger(Search& search) {
  const fs::path given = search.input.ledger;
  std::error_code ignored;
  if (fs::exists(given, ignored) && fs::file_size(given, ignored) > 0) {
    Result<LedgerCopy> copy = LedgerCopy::make(given, search.scratch / "given");
    if (!copy) return copy.error();
    if (!copy->tables().empty()) {
      search.ledger.emplace(std::move(*copy));
      return {};
    }
  }
  talk(fmt::format("trial run: {} has no tables yet, does the worker make them?\n", printable(given.string())));
  const fs::path made = search.scratch / "made";
  const Result<Trial> trial = run_blind(search, "", "SELECT name AS key, type AS state FROM sqlite_schema", made);
  if (!trial) return trial.error();
  const fs::path file = made / fs::path(search.input.ledger_path).filename();
  if (!fs::exists(file, ignored)) {
    if (Result<void> good = check_worker(search, *trial); !good) return good.error();
    return usage(fmt::format("there is no ledger {}, and the worker made no {} in a trial run",
                             printable(given.string()), printable(search.input.ledger_path)),
                 "give the SQLite file of the jobs with --ledger");
  }
  Result<LedgerCopy> copy = LedgerCopy::make(file, search.scratch / "made-copy");
  if (!copy) return copy.error();
  search.ledger.emplace(std::move(*copy));
  return {};
}

Error no_jobs(const Search& search) {
  std::string names;
  for (const Table& table : search.ledger->tables()) names += (names.empty() ? "" : ", ") + table.name;
  return usage(fmt::format("no table of {} looks like jobs (it has {})", printable(search.input.ledger.string()),
                           names.empty() ? "none" : printable(names)),
               "a table of jobs has a column for each job's state, such as pending, leased and delivered");
}

const Table* find_table(const Search& search, const std::string& name) {
  const auto found = std::ranges::find(search.ledger->tables(), name, &Table::name);
  return found == search.ledger->tables().end() ? nullptr : &*found;
}

// A trial with some rows of each table. Rows that are likely jobs are few, all others are kept.
Result<void> watch(Search& search) {
  std::map<std::string, std::string> kept;
  std::vector<Table> watched = search.ledger->tables();
  for (Table& table : watched) {
    const Column* state = guess_state_column(table, {});
    kept[table.name] = sample(table, state);
    if (state != nullptr) table.rows = 0;
  }
  Result<std::string> setup = dump(*search.ledger, kept);
  if (!setup) return setup.error();
  constexpr std::int64_t most_rows = 500;
  Result<Trial> trial = run_blind(search, *setup + search.made_up, watch_query(watched, most_rows));
  if (!trial) return trial.error();
  if (Result<void> good = check_worker(search, *trial); !good) return good.error();
  search.trial = std::move(*trial);
  search.stories = stories_of(search.trial.history);
  return {};
}

// Until jobs move: the ledger's own, or else made up ones.
Result<void> find_moving_jobs(Search& search) {
  const std::string likely = guess_table(search.ledger->tables(), {});
  const Table* table = find_table(search, likely);
  if (table != nullptr && table->rows == 0) search.made_up = made_up_jobs(*table);
  talk(fmt::format("trial run: one worker, no faults{}\n", search.made_up.empty() ? "" : ", jobs made up"));
  if (Result<void> watched = watch(search); !watched) return watched.error();
  const auto moved = [&] {
    return std::ranges::any_of(search.stories, [](const RowStory& row) { return row.versions.size() > 1; });
  };
  if (moved() || table == nullptr || !search.made_up.empty()) return {};
  talk(fmt::format("trial run: no row moved; once more with jobs made up in {}\n", printable(likely)));
  search.made_up = made_up_jobs(*table);
  if (Result<void> watched = watch(search); !watched) return watched.error();
  if (!moved()) search.made_up.clear();  // then its own are the better ones
  return {};
}

KnownWords words_of_ledger(const LedgerCopy& ledger) {
  KnownWords words;
  for (const Table& table : ledger.tables()) {
    for (const Column& column : table.columns) {
      if (column.unique) continue;
      constexpr int most_words = 12;
      SQLite::Statement query(ledger.database(), fmt::format("SELECT DISTINCT quote({0}) FROM {1} ORDER BY 1 LIMIT {2}",
                                                             sql_name(column.name), sql_name(table.name), most_words));
      while (query.executeStep()) words[table.name][column.name].push_back(plain(query.getColumn(0).getString()));
    }
  }
  return words;
}

Result<void> write_setup(Search& search, const Table& table) {
  Result<std::string> setup = dump(*search.ledger, {{table.name, "WHERE 0"}});
  if (!setup) return setup.error();
  return write_text(search.input.setup, "-- The ledger without its jobs, made by halfsent init.\n" + *setup);
}

Result<void> sketch_scenario(Search& search) {
  const Table* table = find_table(search, guess_table(search.ledger->tables(), search.stories));
  if (table == nullptr) return no_jobs(search);
  Sketch& sketch = search.sketch;
  sketch.name = search.input.name;
  const fs::path folder = fs::absolute(search.input.output).parent_path();
  for (const fs::path& file : search.input.files) sketch.files.push_back(fs::relative(file, folder).string());
  sketch.command = search.input.command;
  sketch.env = search.input.env;
  sketch.ledger_path = search.input.ledger_path;
  sketch.setup_file = search.input.setup.filename().string();
  sketch.ledger = guess_ledger(*table, search.stories, search.trial.requests, words_of_ledger(*search.ledger));
  sketch.key = guess_key(*table, search.stories, search.trial.requests);
  sketch.port = search.port;
  sketch.port_seen = reached_downstream(search.trial.history);
  sketch.requests_seen = !search.trial.requests.empty();
  sketch.jobs = search.made_up;
  if (sketch.jobs.empty()) {
    const std::string kept = jobs_to_keep(*table, sketch.ledger, search.stories);
    if (!kept.empty()) {
      Result<std::string> rows = dump_rows(*search.ledger, *table, kept);
      if (!rows) return rows.error();
      sketch.jobs = std::move(*rows);
    }
  }
  if (sketch.jobs.empty()) search.made_up = sketch.jobs = made_up_jobs(*table);
  sketch.jobs_made_up = !search.made_up.empty();
  return write_setup(search, *table);
}

// A word in which a job has come to rest, and that no successful trial showed, is one of giving up.
void learn_flagged_words(LedgerGuess& guess, const History& history) {
  if (guess.state_column.empty()) return;
  for (const std::string& word : last_words(history)) {
    const auto in = [&](const std::vector<std::string>& words) {
      return std::ranges::find(words, word) != words.end();
    };
    if (in(guess.pending) || in(guess.leased) || in(guess.delivered) || in(guess.flagged)) continue;
    guess.flagged.push_back(word);
    std::erase(guess.unclear, word);
  }
}

// What only happens when something goes wrong: how long an abandoned claim lasts, and where a job ends that is not
// delivered. None of these trials must succeed for a scenario to be written.
Result<void> provoke(Search& search) {
  Result<Scenario> draft = parse_scenario(write_scenario(search.sketch).text, fs::absolute(search.input.output));
  if (!draft) return draft.error();
  draft->actors.front().count = 1;
  LedgerGuess& guess = search.sketch.ledger;
  if (guess.claim_seen) {
    talk("trial run: the worker is killed after a claim\n");
    const Result<Trial> killed = run_trial(*draft, "kill worker-1 at after_claim");
    if (killed) search.sketch.measured_lease = time_between_claims(killed->history);
  }
  if (search.sketch.requests_seen) {
    talk("trial run: an answer of the downstream is lost\n");
    const Result<Trial> dropped = run_trial(*draft, "drop downstream at after_accept");
    if (dropped) learn_flagged_words(guess, dropped->history);
    talk("trial run: the downstream refuses every connection\n");
    // Long enough for a handful of attempts with growing pauses. A worker that ends by itself makes one at each start,
    // and starts are dear.
    draft->horizon = end_of_worker(search.trial.history) ? Nanoseconds{std::chrono::minutes{10}}
                                                         : std::max<Nanoseconds>(draft->horizon, std::chrono::hours{1});
    const Result<Trial> refused = run_trial(*draft, "refuse worker-1");
    if (refused) learn_flagged_words(guess, refused->history);
  }
  return {};
}

// --- what there is to tell

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text.empty() ? "?" : text;
}

void tell(const Search& search, const Written& written) {
  const Sketch& sketch = search.sketch;
  const LedgerGuess& guess = sketch.ledger;
  const auto row = [](const char* name, const std::string& text) {
    say(fmt::format("  {:<12}{}\n", name, printable(text)));
  };
  say(fmt::format("\n{} is written, and the ledger's schema to {}\n", printable(search.input.output.string()),
                  printable(search.input.setup.string())));
  row("jobs",
      fmt::format("{}; key {}, state {}", guess.table, guess.key_sql, guess.state_sql.empty() ? "?" : guess.state_sql));
  row("states",
      fmt::format("pending: {}; leased: {}; delivered: {}; flagged: {}", joined(guess.pending), joined(guess.leased),
                  joined(guess.delivered), guess.flagged.empty() ? "none seen" : joined(guess.flagged)));
  row("attempts", guess.attempts_column.empty() ? "no column" : guess.attempts_column);
  row("lease", guess.lease_column.empty() ? "no column" : guess.lease_sql);
  std::string job;
  for (const KeySource& source : sketch.key.job) job += (job.empty() ? "" : ", ") + to_text(source);
  row("downstream",
      fmt::format("port {}; key: {}; job: {}", sketch.port, sketch.key.key ? to_text(*sketch.key.key) : "none was sent",
                  job.empty() ? "not told" : job));
  say(fmt::format("\nLeft to you, in {}:\n", printable(search.input.output.string())));
  int n = 0;
  for (const Edit& edit : written.edits) say(fmt::format("  {}. line {}: {}\n", ++n, edit.line, printable(edit.what)));
}

// The scenario as it stands, with all its workers and no fault: whether the guesses add up.
Result<void> check(const Search& search) {
  const Result<Scenario> scenario = load_scenario(search.input.output);
  if (!scenario) return scenario.error();
  const Result<Trial> trial = run_trial(*scenario, "");
  if (!trial) return trial.error();
  const Plan plan{.scenario = scenario->name, .faults = {}};
  const Verdict verdict = judge(trial->history, plan, terms_of(*scenario));
  if (exit_code(verdict) == ExitCode::held) {
    say("\nWithout faults it holds. Next: halfsent run " + printable(search.input.output.string()) + "\n");
    return {};
  }
  say("\nWithout any fault it does not hold, so one of the guesses above is wrong, or the worker is:\n");
  for (const KeyVerdict& key : verdict.keys)
    if (is_violation(key.kind))
      say(fmt::format("  {} {}: {}\n", to_string(key.kind), printable(key.key), printable(key.why)));
  for (const std::string& why : verdict.inconclusive) say("  " + printable(why) + "\n");
  say("Look at it with: halfsent windows " + printable(search.input.output.string()) + "\n");
  return {};
}

Result<void> init(const InitOptions& options) {
  Result<Input> input = read_input(options);
  if (!input) return input.error();
  Result<ScratchFolder> scratch = ScratchFolder::create();
  if (!scratch) return scratch.error();
  Search search{.input = std::move(*input), .scratch = scratch->path()};
  std::vector<std::string> texts = search.input.command;
  for (const auto& [name, value] : search.input.env) texts.push_back(value);
  search.port = port_in(texts).value_or(usual_port);
  if (Result<void> found = find_ledger(search); !found) return found.error();
  if (Result<void> moved = find_moving_jobs(search); !moved) return moved.error();
  if (Result<void> sketched = sketch_scenario(search); !sketched) return sketched.error();
  if (Result<void> provoked = provoke(search); !provoked) {
    std::error_code ignored;
    fs::remove(search.input.setup, ignored);  // a scenario that does not load is none
    return provoked.error();
  }
  const Written written = write_scenario(search.sketch);
  if (Result<void> stored = write_text(search.input.output, written.text); !stored) return stored.error();
  tell(search, written);
  return check(search);
}

}  // namespace
}  // namespace halfsent::init

namespace halfsent {

ExitCode init_command(const InitOptions& options) {
  const Result<void> done = init::init(options);
  return done ? ExitCode::held : report(done.error());
}

}  // namespace halfsent
