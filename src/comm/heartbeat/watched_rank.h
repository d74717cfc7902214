// Runs the body of an MPI rank under the heartbeat, from start to end.
#pragma once

#include <filesystem>
#include <functional>

#include "comm/heartbeat/last_words.h"
#include "comm/heartbeat/start_heartbeat.h"

namespace troika {

struct RankWatch {
  HeartbeatOptions heartbeat{};
  std::filesystem::path log{};  ///< logs/rank-N of the run; empty: stderr only.
  /// If false, the file is created only when there is something to write; for commands without a
  /// run folder.
  bool opens_log_early = true;
};

/// All ranks call it together, from main's thread. If a rank fails or is lost, or `body` throws,
/// this process writes the reason and ends by _exit, because a thread that waits for a lost peer
/// cannot be stopped otherwise. The rank that threw ends with its own message and exit code, the
/// others with those of Error(peer). Returns when `body` has returned on all ranks; the world may
/// then be destroyed.
void run_watched_rank(MpiWorld& world, const RankWatch& watch,
                      const std::function<void(Heartbeat&)>& body);
/// The same if the path of the log becomes known later: `body` opens it.
void run_watched_rank(MpiWorld& world, const RankWatch& watch,
                      const std::function<void(Heartbeat&, LastWords&)>& body);

}  // namespace troika
