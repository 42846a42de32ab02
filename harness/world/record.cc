#include "harness/world/engine.h"

namespace halfsent {

void Engine::record(const Actor* actor, int incarnation, int process, EventBody body) {
  if (error_) return;
  Event event{.seq = history_.events.size(),
              .at = clock_.now(),
              .incarnation = incarnation,
              .process = process,
              .body = std::move(body)};
  if (actor != nullptr) event.actor = actor->name;
  const Seq seq = event.seq;
  // Up to the last fault everything must be as it was in the parent: a plan that means the same must do the same.
  if (seq < setup_.prefix.size() && !(setup_.prefix[seq] == event)) {
    fail(Error{.code = ExitCode::diverged,
               .message = "this execution left its plan at event " + std::to_string(seq) + "\n  expected " +
                          to_json_line(setup_.prefix[seq]) + "\n  happened " + to_json_line(event),
               .mend = "the system under test is not repeatable here; look for what differs between the two events"});
    return;
  }
  history_.events.push_back(std::move(event));
  strike(seq);
}

}  // namespace halfsent
