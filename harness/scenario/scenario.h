// A scenario: the system under test, its ledger, its downstream and what is promised. Read from TOML.
//
//   [scenario]  name, description, on_doubt = "retry" | "flag", naive_twin = "other.toml", expect = "held" | "violated"
//   [world]     files = ["../sut/polling_python"] (copied into the world's folder before each execution, paths relative
//               to the scenario file), lease = "60s", horizon = "30min", quiet = "3min", fork_server = true
//   [ledger]    kind = "sqlite", path = "ledger.db" (inside the world), setup = "schema.sql" (file, relative to the
//               scenario) and/or setup_sql = "...",
//               rows = "SELECT ... AS key, ... AS state [, ... AS attempts][, ... AS lease_until]" (and token, owner,
//               due_at, slot, cohort, authority where the ledger has them),
//               states = { pending = ["pending"], leased = [...], delivered = [...], flagged = [...] },
//               failover_loses = 1
//   [contract]  recovery = "2min", max_attempts = 5, failed = ["exhausted"], eligible = ["4187:2026-W33", ...]
//   [downstream] port = 8080, key = "header Idempotency-Key" | "json digest_key" | "path /send/{key}",
//               job = ["json digest_key"] (tells the job of a request without a key),
//               honours_key = true, dedupe_window = "24h", key_lag = "0s", accepted_status = 200,
//               known_key_status = 200
//   [[actor]]   name = "worker", count = 2, command = ["python3", "worker.py", "{actor}"], env = { A = "b" },
//               on_exit = "finished" | "restart"
//   [sweep]     faults = ["kill", "hold", "drop"] (default: every one)
//   [objectives] longest_delay = "5min", longest_block = "2min", pending_target = "1min"
//
// A drill is a file with [drill] name, description, systems = ["../polling_python.toml"], fails = [...], and one
// [[run]] for each execution: plan = "kill worker-1 at ...", and what is expected in the end (delivered = 10, attempts
// = { K = 2 }, ...). Everything else it takes from the system it is run on, unless it says it itself: a key replaces
// the system's, files are added, an [[actor]] with the name of one of the system's changes it. Its paths are relative
// to its own file. Its name is DRILL.SYSTEM.
//
// In world.files and actor.command ${BIN} is the folder of the running program; in actor.command and the values of
// actor.env {actor} is the actor's name. Every key is listed in scenario_schema(), which is also the documentation.
// Unknown keys are errors.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/core/error.h"
#include "harness/core/event.h"
#include "harness/core/objectives.h"
#include "harness/core/plan.h"

namespace halfsent {

enum class OnDoubt { unstated, retry, flag };

struct KeySource {
  enum class Kind { header, json, path };
  Kind kind = Kind::header;
  // header: its name (case does not matter). json: a dotted member path ("job.digest_key").
  // path: a template with {key} ("/send/{key}"), percent-decoded.
  std::string where;
  friend bool operator==(const KeySource&, const KeySource&) = default;
};

struct ReceivedRequest;  // fakes/request_reader.h

struct DownstreamConfig {
  std::uint16_t port = 8080;
  KeySource key = {};
  // Where the job can be told when the request carries no idempotency key (used for attribution only).
  std::vector<KeySource> job = {};
  bool honours_key = true;
  Nanoseconds dedupe_window = std::chrono::hours{24};
  Nanoseconds key_lag{0};      // the key is stored that long after the effect: a repeat in between is a new one
  int accepted_status = 200;   // what an acceptance is answered with
  int known_key_status = 200;  // what a repeat is answered with
  std::size_t max_body_bytes = 64u << 20;
  std::size_t max_header_bytes = 64u << 10;
  // Sees each request as it arrived, in order; for a harness that looks for keys. No scenario sets it.
  std::function<void(const ReceivedRequest&)> witness = {};
};

struct LedgerConfig {
  std::string kind = "sqlite";
  std::string path;   // relative to the world's folder
  std::string setup;  // SQL text: setup file's content followed by setup_sql
  std::string rows;
  std::map<std::string, JobState> states;  // the ledger's word -> ours
  int failover_loses = 0;                  // committed transactions that the replica of a sweep's failover lacks
};

struct ActorConfig {
  std::string name;
  int count = 1;  // actors are named NAME-1 .. NAME-count; with count = 1 too
  // In both, {actor} stands for the name of the actor ("worker-1"): whoever starts it puts it in.
  std::vector<std::string> command;
  std::map<std::string, std::string> env;  // values only
  enum class OnExit { finished, restart } on_exit = OnExit::finished;
};

// One execution of a drill.
struct DrillRun {
  Plan plan;
  Expectations expected;
};

struct Scenario {
  std::string name;
  std::string description;
  std::filesystem::path file;  // where it was read from, absolute
  OnDoubt on_doubt = OnDoubt::unstated;
  std::string naive_twin;  // path relative to `file`, empty: none
  bool expect_violation = false;

  // What is promised beyond the states: [contract].
  Nanoseconds recovery{0};  // 0: not stated, then two leases
  std::optional<int> max_attempts;
  std::vector<std::string> failed_words;
  std::vector<std::string> eligible;
  std::vector<std::string> without_invariants;  // not to be judged; no scenario sets it, the command line does

  std::vector<std::filesystem::path> files;  // absolute; folders are copied with their content
  Nanoseconds lease = std::chrono::seconds{60};
  Nanoseconds horizon = std::chrono::minutes{30};
  bool fork_server = true;
  Nanoseconds quiet = std::chrono::minutes{3};  // after everything is settled the execution goes on for this long

  LedgerConfig ledger;
  DownstreamConfig downstream;
  std::vector<ActorConfig> actors;
  std::vector<FaultKind> sweep_faults;
  Objectives objectives;

  // Of a drill; empty otherwise. `systems` are the scenario files for which it must hold.
  std::vector<DrillRun> runs;
  std::vector<std::filesystem::path> systems;
  std::vector<std::filesystem::path> failing_systems;
};

// Errors: ExitCode::usage with file, line, column and in `mend` the nearest known name or what is expected.
// `system`: the scenario file on which a drill is run; without it the first that the drill names. For a scenario that
// is no drill it is an error.
Result<Scenario> load_scenario(const std::filesystem::path& file, const std::filesystem::path& system = {});
Result<Scenario> parse_scenario(std::string_view toml, const std::filesystem::path& file,
                                const std::filesystem::path& system = {});

struct SchemaKey {
  std::string_view table;  // "scenario", "world", "ledger", "contract", ...
  std::string_view key;
  std::string_view type;  // "string", "duration", "list of strings", ...
  bool required;
  std::string_view summary;
};
std::span<const SchemaKey> scenario_schema();

}  // namespace halfsent
