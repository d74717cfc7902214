#include "comm/heartbeat/watched_rank.h"

#include <fmt/format.h>

#include <optional>

#include "base/error.h"
#include "comm/heartbeat/end_signals.h"

namespace troika {

void run_watched_rank(MpiWorld& world, const RankWatch& watch,
                      const std::function<void(Heartbeat&)>& body) {
  auto alone = [&](Heartbeat& heartbeat, LastWords&) { body(heartbeat); };
  run_watched_rank(world, watch, std::function<void(Heartbeat&, LastWords&)>(alone));
}

void run_watched_rank(MpiWorld& world, const RankWatch& watch,
                      const std::function<void(Heartbeat&, LastWords&)>& body) {
  // Declared first, because the heartbeat's thread uses it until the heartbeat is destroyed.
  LastWords last(watch.log, watch.opens_log_early
                                ? LastWords::Opens::now
                                : LastWords::Opens::when_there_is_something_to_say);
  auto heartbeat =
      start_heartbeat(world, watch.heartbeat, [&](const Verdict& verdict) { last.leave(verdict); });
  std::optional<EndSignals> signals(*heartbeat);
  try {
    body(*heartbeat, last);
    leave_together(world, *heartbeat);
  } catch (const std::exception& failure) {
    // Another rank may be the cause, and fail then returns the verdict on that one.
    last.leave(heartbeat->fail({failure.what(), exit_code_of(failure)}));
  }
  signals.reset();
  if (std::int64_t dropped = heartbeat->dropped(); dropped > 0)
    last.note(
        fmt::format("{} connections to the port of the heartbeat did not prove this run's key "
                    "and were dropped",
                    dropped));
}

}  // namespace troika
