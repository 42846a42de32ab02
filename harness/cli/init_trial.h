// Trial runs: the user's worker in a world, with whatever is known of its scenario, to see what it does.
//
// Threads: one, as Runner has it. Errors: ExitCode::usage when the worker cannot be started.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "fakes/request_reader.h"
#include "harness/cli/init_guess.h"
#include "harness/cli/init_schema.h"
#include "harness/core/error.h"
#include "harness/core/history.h"
#include "harness/scenario/scenario.h"

namespace halfsent::init {

struct Trial {
  History history;
  std::vector<ReceivedRequest> requests;  // as they arrived
  std::string output;                     // what the worker's first incarnation wrote
};

// Runs the scenario once with the faults of `plan` ("kill worker-1 at after_claim"; empty: none), and copies the ledger
// of the world to `keep_ledger` unless that is empty.
Result<Trial> run_trial(Scenario scenario, const std::string& faults, const std::filesystem::path& keep_ledger = {});

// A query for rows that makes every change of every table an event: key tells table and row, state has all values.
// Tables with more than `most_rows` are left out. Empty: there is nothing to watch.
std::string watch_query(const std::vector<Table>& tables, std::int64_t most_rows);

// --- Questions about a trial. Pure.

// The rows of a trial whose rows query is a watch_query, in the order in which they were first seen.
std::vector<RowStory> stories_of(const History& history);

// Ports that the worker connected to and that are not the downstream's, each once, in order.
std::vector<std::uint16_t> foreign_ports(const History& history);

// Whether a connection to the downstream was asked for.
bool reached_downstream(const History& history);

// How worker-1 ended by itself: an exit code, or 128 + signal. Empty: it did not.
std::optional<int> end_of_worker(const History& history);

// Virtual time between the first two changes to leased of one job. Empty: nothing was claimed twice.
std::optional<Nanoseconds> time_between_claims(const History& history);

// The ledger's last word for each job, each once, in order.
std::vector<std::string> last_words(const History& history);

// The port of the first URL of this machine in the texts ("http://127.0.0.1:8080/send").
std::optional<std::uint16_t> port_in(const std::vector<std::string>& texts);

}  // namespace halfsent::init
