#include "harness/scenario/schema.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <map>

namespace halfsent {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view bare_characters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789:._-";

bool has_nul(std::string_view text) { return text.find('\0') != std::string_view::npos; }

void scenario_name(Draft& draft, const Text& name) {
  if (!is_bare(name.value)) {
    draft.fail(name.at, fmt::format("scenario.name {} cannot be written in a plan", shown(name.value)),
               "use letters, digits and : . _ -");
  }
  draft.scenario.name = name.value;
}

void on_doubt(Draft& draft, const Text& word) {
  const auto choice =
      pick<OnDoubt>(draft, "scenario.on_doubt", word, {{"retry", OnDoubt::retry}, {"flag", OnDoubt::flag}});
  if (choice) draft.scenario.on_doubt = *choice;
}

void expect(Draft& draft, const Text& word) {
  const auto violated = pick<bool>(draft, "scenario.expect", word, {{"held", false}, {"violated", true}});
  if (violated) draft.scenario.expect_violation = *violated;
}

void naive_twin(Draft& draft, const Text& path) {
  std::error_code ignored;
  if (path.value.empty() || !fs::is_regular_file(draft.resolve(path.value), ignored)) {
    draft.fail(path.at, fmt::format("scenario.naive_twin: there is no scenario file {}", shown(path.value)),
               "paths are relative to this scenario file");
  }
  draft.scenario.naive_twin = path.value;
}

void world_files(Draft& draft, const Texts& paths) {
  for (const Text& path : paths.value) {
    const fs::path absolute = draft.resolve(path.value);
    std::error_code ignored;
    if (path.value.empty() || has_nul(path.value) || !fs::exists(absolute, ignored)) {
      const bool built = path.value.find("${BIN}") != std::string::npos;
      draft.fail(path.at, fmt::format("world.files: there is no file or folder {}", shown(path.value)),
                 built ? "build it first: ${BIN} is the folder of the running program"
                       : "paths are relative to this scenario file");
      continue;
    }
    draft.scenario.files.push_back(absolute);
  }
}

// Takes a duration that must be longer than nothing.
void positive(Draft& draft, std::string_view what, const Duration& duration, Nanoseconds& into) {
  if (duration.value <= Nanoseconds{0}) {
    draft.fail(duration.at, fmt::format("{} must be longer than 0, not {}", what, format_duration(duration.value)),
               R"(write a duration such as "60s")");
    return;
  }
  into = duration.value;
}

void ledger_kind(Draft& draft, const Text& word) {
  if (pick<bool>(draft, "ledger.kind", word, {{"sqlite", true}})) draft.scenario.ledger.kind = word.value;
}

void ledger_path(Draft& draft, const Text& path) {
  const fs::path relative{path.value};
  const bool up = std::find(relative.begin(), relative.end(), fs::path{".."}) != relative.end();
  const fs::path plain = relative.lexically_normal();
  if (has_nul(path.value) || relative.is_absolute() || up || !plain.has_filename() || plain == ".") {
    draft.fail(path.at, fmt::format("ledger.path {} must stay inside the world's folder", shown(path.value)),
               R"(write a relative path without "..", such as "ledger.db")");
    return;
  }
  draft.scenario.ledger.path = plain.string();
}

void ledger_setup(Draft& draft, const Text& path) {
  const fs::path absolute = draft.resolve(path.value);
  std::error_code ignored;
  std::ifstream in(absolute, std::ios::binary);
  if (path.value.empty() || !fs::is_regular_file(absolute, ignored) || !in) {
    draft.fail(path.at, fmt::format("ledger.setup: cannot read the SQL file {}", shown(path.value)),
               "paths are relative to this scenario file");
    return;
  }
  draft.setup_file.assign(std::istreambuf_iterator<char>(in), {});
}

void ledger_states(Draft& draft, const TextsTable& table) {
  draft.scenario.ledger.states.clear();
  std::set<JobState> mapped;
  std::map<std::string, std::string> owner;
  for (const auto& [name, words] : table.value) {
    const auto state = pick<JobState>(draft, "ledger.states", name,
                                      {{"pending", JobState::pending},
                                       {"leased", JobState::leased},
                                       {"delivered", JobState::delivered},
                                       {"flagged", JobState::flagged}});
    if (!state) continue;
    for (const Text& word : words.value) {
      const auto [found, fresh] = owner.emplace(word.value, name.value);
      if (!fresh) {
        draft.fail(word.at,
                   found->second == name.value
                       ? fmt::format("ledger.states: {} is listed twice in {}", shown(word.value), name.value)
                       : fmt::format("ledger.states: {} is listed in {} and in {}", shown(word.value), found->second,
                                     name.value),
                   "a word of the ledger means one state: list it once");
        continue;
      }
      draft.scenario.ledger.states[word.value] = *state;
      mapped.insert(*state);
    }
  }
  for (const JobState state : {JobState::leased, JobState::delivered}) {
    if (mapped.contains(state)) continue;
    const std::string_view name = state == JobState::leased ? "leased" : "delivered";
    draft.miss(table.at, fmt::format("ledger.states lists no word for {}", name),
               fmt::format(R"(name the ledger's own word: {} = ["{}"])", name, name));
  }
}

void downstream_port(Draft& draft, const Number& port) {
  if (port.value < 1 || port.value > 65535) {
    draft.fail(port.at, fmt::format("downstream.port {} is no port", port.value), "ports are 1 to 65535");
    return;
  }
  draft.scenario.downstream.port = static_cast<std::uint16_t>(port.value);
}

void downstream_key(Draft& draft, const Text& text) {
  if (auto key = read_key_source(draft, "downstream.key", text)) draft.scenario.downstream.key = std::move(*key);
}

void downstream_job(Draft& draft, const Texts& list) {
  for (const Text& text : list.value) {
    if (auto job = read_key_source(draft, "downstream.job", text))
      draft.scenario.downstream.job.push_back(std::move(*job));
  }
}

void status_of(Draft& draft, std::string_view name, const Number& status, int& to) {
  if (status.value < 200 || status.value > 599) {
    draft.fail(status.at, fmt::format("{} {} is no final HTTP status", name, status.value), "statuses are 200 to 599");
    return;
  }
  to = static_cast<int>(status.value);
}

void honours_key(Draft& draft, const Truth& honours) {
  draft.scenario.downstream.honours_key = honours.value;
  draft.honours_key_place = honours.at;
}

void actor_name(Draft& draft, const Text& name) {
  if (!is_bare(name.value)) {
    draft.fail(name.at, fmt::format("actor.name {} cannot be written in a plan", shown(name.value)),
               "use letters, digits and : . _ -");
  } else if (name.value == "downstream") {
    draft.fail(name.at, R"(actor.name "downstream" is taken by the fake downstream)", "choose another name");
  } else if (!draft.actor_names.insert(name.value).second) {
    draft.fail(name.at, fmt::format("two actors are named {}", shown(name.value)),
               "give each its own name, or use count");
  }
  draft.scenario.actors.back().name = name.value;
}

void actor_count(Draft& draft, const Number& count) {
  if (count.value < 1 || count.value > 64) {
    draft.fail(count.at, fmt::format("actor.count {} is out of range", count.value), "an actor runs 1 to 64 times");
    return;
  }
  draft.scenario.actors.back().count = static_cast<int>(count.value);
}

void ledger_failover_loses(Draft& draft, const Number& count) {
  if (count.value < 0 || count.value > 1000) {
    draft.fail(count.at, fmt::format("ledger.failover_loses {} is out of range", count.value),
               "a replica lacks 0 (it is synchronous) to 1000 transactions");
    return;
  }
  draft.scenario.ledger.failover_loses = static_cast<int>(count.value);
}

void actor_command(Draft& draft, const Texts& words) {
  if (words.value.empty() || words.value.front().value.empty()) {
    draft.fail(words.at, "actor.command names no program",
               R"(write the program and its arguments: ["python3", "worker.py", "{actor}"])");
    return;
  }
  draft.scenario.actors.back().command.clear();
  for (const Text& word : words.value) {
    if (has_nul(word.value)) {
      draft.fail(word.at, fmt::format("actor.command: the argument {} has a NUL byte", shown(word.value)),
                 "an argument ends at a NUL: remove it");
      return;
    }
    draft.scenario.actors.back().command.push_back(expand_bin(word.value));
  }
}

void actor_env(Draft& draft, const TextTable& table) {
  for (const auto& [name, value] : table.value) {
    if (name.value.empty() || has_nul(name.value) || name.value.find('=') != std::string::npos) {
      draft.fail(name.at, fmt::format("actor.env: {} is no name of a variable", shown(name.value)),
                 "a name is not empty and has no = and no NUL");
    } else if (has_nul(value.value)) {
      draft.fail(value.at, fmt::format("actor.env: the value of {} has a NUL byte", shown(name.value)),
                 "a value ends at a NUL: remove it");
    } else {
      draft.scenario.actors.back().env[name.value] = value.value;
    }
  }
}

void actor_on_exit(Draft& draft, const Text& word) {
  using OnExit = ActorConfig::OnExit;
  const auto choice =
      pick<OnExit>(draft, "actor.on_exit", word, {{"finished", OnExit::finished}, {"restart", OnExit::restart}});
  if (choice) draft.scenario.actors.back().on_exit = *choice;
}

void sweep_faults(Draft& draft, const Texts& words) {
  draft.scenario.sweep_faults.clear();
  if (words.value.empty()) {
    draft.fail(words.at, "sweep.faults lists no fault", R"(name at least one: ["kill", "hold", "drop"])");
  }
  std::vector<std::string> names;
  for (const FaultInfo& fault : fault_table()) names.emplace_back(fault.name);
  for (const Text& word : words.value) {
    const auto found = std::find_if(fault_table().begin(), fault_table().end(),
                                    [&](const FaultInfo& fault) { return fault.name == word.value; });
    if (found == fault_table().end()) {
      draft.fail(word.at, fmt::format("sweep.faults knows no {}", shown(word.value)), suggestion(word.value, names));
      continue;
    }
    auto& faults = draft.scenario.sweep_faults;
    if (std::find(faults.begin(), faults.end(), found->kind) != faults.end()) {
      draft.fail(word.at, fmt::format("sweep.faults lists {} twice", shown(word.value)), "name each fault once");
      continue;
    }
    faults.push_back(found->kind);
  }
}

void contract_recovery(Draft& draft, const Duration& value) {
  positive(draft, "contract.recovery", value, draft.scenario.recovery);
}

void contract_max_attempts(Draft& draft, const Number& number) {
  if (number.value < 1 || number.value > 1'000'000) {
    draft.fail(number.at, fmt::format("contract.max_attempts {} is out of range", number.value),
               "a job is attempted once or more");
    return;
  }
  draft.scenario.max_attempts = static_cast<int>(number.value);
}

void contract_failed(Draft& draft, const Texts& words) {
  draft.failed_words.clear();
  for (const Text& word : words.value) draft.failed_words.push_back(word);
}

void contract_eligible(Draft& draft, const Texts& jobs) {
  draft.scenario.eligible.clear();
  std::set<std::string> listed;
  for (const Text& job : jobs.value) {
    if (!listed.insert(job.value).second)
      draft.fail(job.at, fmt::format("contract.eligible lists {} twice", shown(job.value)), "name each job once");
    draft.scenario.eligible.push_back(job.value);
  }
}

constexpr Rule table[] = {
    {"scenario", "name", true, "How plans call the scenario: letters, digits and : . _ - only.", scenario_name},
    {"scenario", "description", false, "One sentence for people.",
     [](Draft& draft, const Text& text) { draft.scenario.description = text.value; }},
    {"scenario", "on_doubt", false,
     "What the product chooses when it cannot know whether a send was accepted: \"retry\" (a possible duplicate) or "
     "\"flag\" (a possible miss that an operator can see). Required when downstream.honours_key is false.",
     on_doubt},
    {"scenario", "naive_twin", false,
     "The scenario file of a system that does the same job wrongly; it must fail under the same campaign.", naive_twin},
    {"scenario", "expect", false,
     "\"held\" (default) or \"violated\": what a correct harness reports. A canary expects violated.", expect},
    {"world", "files", false,
     "Files and folders that are copied into the world's folder before each execution; of a folder, its content. "
     "Relative to the scenario file; ${BIN} is the folder of the running program.",
     world_files},
    {"world", "lease", false, "How long a claim lasts (default 60s). Holds past the lease are made from it.",
     [](Draft& draft, const Duration& value) {
       draft.horizon_place = value.at;
       positive(draft, "world.lease", value, draft.scenario.lease);
     }},
    {"world", "horizon", false, "Virtual time after which no job may still be pending or leased (default 30min).",
     [](Draft& draft, const Duration& value) {
       draft.horizon_place = value.at;
       positive(draft, "world.horizon", value, draft.scenario.horizon);
     }},
    {"world", "quiet", false, "How long an execution goes on after every job is settled (default 3min).",
     [](Draft& draft, const Duration& value) { positive(draft, "world.quiet", value, draft.scenario.quiet); }},
    {"world", "fork_server", false,
     "true (default): in a campaign a program is started once and its incarnations are forked from there, where that "
     "is possible; false: each is started anew. What is found is confirmed by programs started anew either way.",
     [](Draft& draft, const Truth& value) { draft.scenario.fork_server = value.value; }},
    {"ledger", "kind", false, "The kind of ledger; \"sqlite\" (default).", ledger_kind},
    {"ledger", "path", true, "The ledger's file, relative to the world's folder.", ledger_path},
    {"ledger", "setup", false, "A file of SQL that makes the ledger, relative to the scenario file.", ledger_setup},
    {"ledger", "setup_sql", false, "SQL that is run after setup; usually the jobs.",
     [](Draft& draft, const Text& text) { draft.setup_sql = text.value; }},
    {"ledger", "rows", true,
     "A query that gives one row per job with the columns key and state, and where the ledger has them attempts, "
     "lease_until (seconds since the epoch), token (fencing token, another one with each claim), owner, due_at (when a "
     "pending row may be claimed, seconds since the epoch), slot (what the job is for, if more than its key may stand "
     "for it: customer and week), cohort, and authority (who scheduled it: a number that grows with each failover, or "
     "a name). What is not given is not judged.",
     [](Draft& draft, const Text& text) {
       if (text.value.find_first_not_of(" \t\r\n") == std::string::npos) {
         draft.fail(text.at, "ledger.rows is empty", R"(write "SELECT digest_key AS key, state AS state FROM ...")");
       }
       draft.scenario.ledger.rows = text.value;
     }},
    {"ledger", "states", true,
     "The ledger's own words for pending, leased, delivered and flagged. leased and delivered need at least one word; "
     "a "
     "word that is listed nowhere is an unlisted state.",
     ledger_states},
    {"ledger", "failover_loses", false,
     "How many committed transactions the replica lacks that takes over in a sweep's failover (default 0: it is "
     "synchronous).",
     ledger_failover_loses},
    {"contract", "recovery", false,
     "For how long a lease that has run out, or a pending job that is due, may wait when nothing is disturbed (default "
     "two leases).",
     contract_recovery},
    {"contract", "max_attempts", false,
     "How often a job may be claimed before it must be flagged. Not stated: endless loops are told from slow ones by "
     "the "
     "horizon alone.",
     contract_max_attempts},
    {"contract", "failed", false,
     "Those of the flagged states that tell an operator that the job was not delivered; an accepted job in one of them "
     "is a misflag.",
     contract_failed},
    {"contract", "eligible", false,
     "The jobs that must come to be and no others, by the slot that rows give or else by key. Not stated: what is "
     "never "
     "created is not missed.",
     contract_eligible},
    {"downstream", "port", false, "The port of the fake downstream on 127.0.0.1 (default 8080).", downstream_port},
    {"downstream", "key", false,
     "Where a request carries its idempotency key: \"header NAME\", \"json MEMBER\" or \"path /send/{key}\" (default "
     "\"header Idempotency-Key\").",
     downstream_key},
    {"downstream", "job", false,
     "Where the job can be told when a request has no idempotency key, in the same words as key. Used to attribute "
     "requests only.",
     downstream_job},
    {"downstream", "honours_key", false,
     "Whether a request with a known key has no second effect (default true). false requires scenario.on_doubt.",
     honours_key},
    {"downstream", "dedupe_window", false, "How long a key is remembered (default 24h).",
     [](Draft& draft, const Duration& value) {
       positive(draft, "downstream.dedupe_window", value, draft.scenario.downstream.dedupe_window);
     }},
    {"downstream", "key_lag", false,
     "How long after its effect a key is stored (default: at once). A repeat in between has a second effect.",
     [](Draft& draft, const Duration& value) {
       positive(draft, "downstream.key_lag", value, draft.scenario.downstream.key_lag);
     }},
    {"downstream", "accepted_status", false, "The status of an answer to what is accepted (default 200).",
     [](Draft& draft, const Number& value) {
       status_of(draft, "downstream.accepted_status", value, draft.scenario.downstream.accepted_status);
     }},
    {"downstream", "known_key_status", false,
     "The status of an answer to a repeat of what was accepted (default 200). An honest 409 says so, and the worker "
     "must "
     "understand.",
     [](Draft& draft, const Number& value) {
       status_of(draft, "downstream.known_key_status", value, draft.scenario.downstream.known_key_status);
     }},
    {"actor", "name", true, "The role. Its processes are called NAME-1 to NAME-count.", actor_name},
    {"actor", "count", false, "How many of it run: 1 (default) to 64.", actor_count},
    {"actor", "command", true,
     "The program and its arguments, run in the world's folder with a fixed PATH. {actor} is the actor's name "
     "(worker-1); ${BIN} is the folder of the running program.",
     actor_command},
    {"actor", "env", false, "Environment variables beside those of the world; {actor} in a value is the actor's name.",
     actor_env},
    {"actor", "on_exit", false,
     "What an exit by itself means: \"finished\" (default; it is done) or \"restart\" (a supervisor starts it again: "
     "after 1 s, and after "
     "twice as long each time that it has not lived for a minute, up to 32 s).",
     actor_on_exit},
    {"sweep", "faults", false, "The faults of a sweep (default: every one that there is).", sweep_faults},
};

}  // namespace

bool is_bare(std::string_view word) {
  return !word.empty() && word.find_first_not_of(bare_characters) == std::string_view::npos;
}

std::span<const Rule> rules() {
  static const std::vector<Rule> all = [] {
    std::vector<Rule> list(std::begin(table), std::end(table));
    list.insert(list.end(), drill_rules().begin(), drill_rules().end());
    return list;
  }();
  return all;
}

std::string_view type_name(const Apply& apply) {
  static constexpr std::array<std::string_view, std::variant_size_v<Apply>> names = {"string",
                                                                                     "duration",
                                                                                     "boolean",
                                                                                     "integer",
                                                                                     "list of strings",
                                                                                     "table of strings",
                                                                                     "table of lists of strings",
                                                                                     "table of integers"};
  return names[apply.index()];
}

std::span<const SchemaKey> scenario_schema() {
  static const std::vector<SchemaKey> keys = [] {
    std::vector<SchemaKey> list;
    for (const Rule& rule : rules())
      list.push_back({rule.table, rule.key, type_name(rule.apply), rule.required, rule.summary});
    return list;
  }();
  return keys;
}

void check_whole(Draft& draft) {
  Scenario& scenario = draft.scenario;
  if (!scenario.downstream.honours_key && scenario.on_doubt == OnDoubt::unstated) {
    draft.fail(
        draft.honours_key_place,
        "downstream.honours_key is false, so a send whose answer is lost is in doubt, and scenario.on_doubt does not "
        "say what the product chooses",
        R"(write on_doubt = "retry" to send again and accept a possible duplicate, or on_doubt = "flag" to stop and )"
        "accept a possible miss that an operator can see");
  }
  if (scenario.horizon <= scenario.lease) {
    draft.fail(draft.horizon_place,
               fmt::format("world.horizon {} is not longer than world.lease {}, so nothing can be recovered in time",
                           format_duration(scenario.horizon), format_duration(scenario.lease)),
               "make the horizon several leases long");
  }
  for (const Text& word : draft.failed_words) {
    const auto state = scenario.ledger.states.find(word.value);
    if (state == scenario.ledger.states.end() || state->second != JobState::flagged) {
      draft.fail(word.at, fmt::format("contract.failed: {} is no flagged state", shown(word.value)),
                 "list it in flagged of ledger.states too");
    }
    scenario.failed_words.push_back(word.value);
  }
  if (draft.setup_file.empty() && draft.setup_sql.empty()) {
    draft.miss({1, 1}, "the ledger has no set-up", "write ledger.setup (a file of SQL) or ledger.setup_sql");
  }
  scenario.ledger.setup = draft.setup_file;
  if (!scenario.ledger.setup.empty() && scenario.ledger.setup.back() != '\n') scenario.ledger.setup += '\n';
  scenario.ledger.setup += draft.setup_sql;
}

}  // namespace halfsent
