#include "comm/heartbeat/watched_rank.h"

#include <optional>

#include "comm/heartbeat/end_signals.h"

namespace troika {

void run_watched_rank(MpiWorld& world, const RankWatch& watch,
                      const std::function<void(Heartbeat&)>& body) {
  auto alone = [&](Heartbeat& heartbeat, LastWords&) { body(heartbeat); };
  run_watched_rank(world, watch, std::function<void(Heartbeat&, LastWords&)>(alone));
}

void run_watched_rank(MpiWorld& world, const RankWatch& watch,
                      const std::function<void(Heartbeat&, LastWords&)>& body) {
  LastWords last(watch.log);
  auto heartbeat = start_heartbeat(
      world, watch.times, [&](const Error& error) { last.leave(error.what(), error.exit_code()); });
  std::optional<EndSignals> signals(*heartbeat);
  try {
    body(*heartbeat, last);
    leave_together(world, *heartbeat);
  } catch (const std::exception& failure) {
    Error cause = heartbeat->fail(failure.what());
    last.leave(cause.what(), cause.exit_code());
  }
  signals.reset();
}

}  // namespace troika
