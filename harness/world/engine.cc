#include "harness/world/engine.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

namespace halfsent {
Engine::Engine(const EngineSetup& setup)
    : setup_(setup), scenario_(*setup.scenario), sandbox_(*setup.sandbox), clock_(setup.start_since_epoch) {
  for (const ActorConfig& config : scenario_.actors) {
    for (int n = 1; n <= config.count; ++n) {
      auto actor = std::make_unique<Actor>();
      actor->name = config.name + "-" + std::to_string(n);
      actor->config = &config;
      actors_.push_back(std::move(actor));
    }
  }
}

Engine::~Engine() {
  for (auto& actor : actors_)
    if (actor->output_fd >= 0) ::close(actor->output_fd);
}

Result<Execution> Engine::run() {
  if (Result<void> ready = prepare(); !ready) return ready.error();
  if (setup_.probe) observe_first_rows();  // what was there before anybody came
  apply_standing_faults();
  for (auto& actor : actors_) {
    start(*actor);
    settle();
    observe();
  }
  while (!error_) {
    start_due_actors();
    if (const std::optional<Finished> how = finished()) {
      end_world(*how);
      break;
    }
    // A fault may have sent a signal: whom it wakes goes on at this very time.
    if (!signals_possible_ && !release_next() && !advance_time()) {
      give_up("deadlock", wait_graph());
      continue;
    }
    settle();
    observe();
  }
  if (error_) {
    end_world({.reason = "failed"});
    return *error_;
  }
  result_.history = std::move(history_);
  return std::move(result_);
}

Result<void> Engine::prepare() {
  Result<ReadySet> ready = ReadySet::create();
  if (!ready) return ready.error();
  ready_ = std::make_unique<ReadySet>(std::move(*ready));
  history_.scenario = scenario_.name;
  history_.seed = setup_.seed;
  Result<int> listening = sandbox_.in_network([&] { return Downstream::listen(scenario_.downstream.port); });
  if (!listening) return listening.error();
  downstream_ = std::make_unique<Downstream>(scenario_.downstream, *listening);
  Result<NetworkBarrier> barrier = sandbox_.in_network([] { return NetworkBarrier::create(); });
  if (!barrier) return barrier.error();
  barrier_ = std::make_unique<NetworkBarrier>(std::move(*barrier));
  probe_ = make_ledger_probe(scenario_.ledger, sandbox_.root() / "cwd", setup_.scratch);
  return {};
}

bool Engine::all_settled() const {
  return !rows_.empty() && std::all_of(rows_.begin(), rows_.end(), [](const LedgerRow& row) {
    return row.state == JobState::delivered || row.state == JobState::flagged;
  });
}

Nanoseconds Engine::quiet_until() const { return std::max(last_change_, disturbed_until_) + scenario_.quiet; }

std::optional<Finished> Engine::finished() {
  if (gave_up_) return gave_up_;
  if (clock_.now() >= scenario_.horizon) return Finished{.reason = "horizon"};
  const bool anybody = std::any_of(actors_.begin(), actors_.end(), [&](const auto& actor) {
    return is_alive(*actor) || actor->restart_at ||
           std::any_of(actor->processes.begin(), actor->processes.end(), [](const auto& p) { return !p->dead; });
  });
  if (!anybody && late_.empty()) return Finished{.reason = "all exited"};
  if (all_settled() && late_.empty() && clock_.now() >= quiet_until()) return Finished{.reason = "drained"};
  return std::nullopt;
}

void Engine::end_world(const Finished& how) {
  for (auto& actor : actors_) {
    for (auto& process : actor->processes) {
      if (process->dead) continue;
      kill_process(*process);
    }
  }
  if (gave_up_) (void)sandbox_.kill_all();  // some may be unknown to us
  wait_for_deaths();
  deaths_.clear();
  for (auto& actor : actors_) collect_output(*actor);
  record(nullptr, 0, 0, how);
}

void Engine::fail(Error error) {
  if (!error_) error_ = std::move(error);
}

void Engine::give_up(std::string reason, std::string detail) {
  if (!gave_up_) gave_up_ = Finished{.reason = std::move(reason), .detail = std::move(detail)};
}

}  // namespace halfsent
