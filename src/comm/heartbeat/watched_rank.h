// What a rank of an MPI run does, under watch from its beginning to its end.
#pragma once

#include <filesystem>
#include <functional>

#include "comm/heartbeat/last_words.h"
#include "comm/heartbeat/start_heartbeat.h"

namespace troika {

struct RankWatch {
  HeartbeatTimes times{};
  std::filesystem::path log{};  ///< logs/rank-N of the run; empty: last words go to stderr only.
};

/// All ranks call it together, from main's thread, as main would: where one of them fails or is
/// lost, or `body` throws, this process says why and ends with the exit code of it (_exit), because
/// nothing that waits for a lost peer can be ended otherwise. Returns when all ranks are through
/// with `body`; the world can then be ended.
void run_watched_rank(MpiWorld& world, const RankWatch& watch,
                      const std::function<void(Heartbeat&)>& body);
/// The same where the log becomes known only later: `body` opens it.
void run_watched_rank(MpiWorld& world, const RankWatch& watch,
                      const std::function<void(Heartbeat&, LastWords&)>& body);

}  // namespace troika
