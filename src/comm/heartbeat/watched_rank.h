// What a rank of an MPI run does, under watch from its beginning to its end.
#pragma once

#include <filesystem>
#include <functional>

#include "comm/heartbeat/last_words.h"
#include "comm/heartbeat/start_heartbeat.h"

namespace troika {

struct RankWatch {
  HeartbeatOptions heartbeat{};
  std::filesystem::path log{};  ///< logs/rank-N of the run; empty: last words go to stderr only.
  /// False: the file is made only when there is something to say, where there is no run folder that
  /// it could belong to.
  bool opens_log_early = true;
};

/// All ranks call it together, from main's thread, as main would: where one of them fails or is
/// lost, or `body` throws, this process says why and ends (_exit), because nothing that waits for a
/// lost peer can be ended otherwise: the rank that threw with its own sentence and exit code, the
/// others with Error(peer)'s. Returns when all ranks are through with `body`; the world can then be
/// ended.
void run_watched_rank(MpiWorld& world, const RankWatch& watch,
                      const std::function<void(Heartbeat&)>& body);
/// The same where the log becomes known only later: `body` opens it.
void run_watched_rank(MpiWorld& world, const RankWatch& watch,
                      const std::function<void(Heartbeat&, LastWords&)>& body);

}  // namespace troika
