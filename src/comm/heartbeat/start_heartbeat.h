// Starts the heartbeat of an MPI run: opens ports, and exchanges addresses and the key over MPI.
#pragma once

#include <chrono>
#include <functional>
#include <memory>

#include "comm/heartbeat/heartbeat.h"
#include "comm/mpi/mpi_world.h"

namespace troika {

struct HeartbeatOptions {
  HeartbeatTimes times{};
  bool is_on = true;  ///< If false on one rank, the heartbeat is off on all.
  ListenOptions listen{};
};

/// All ranks call it together. From here on functions of `world` throw, too, if a peer is lost; the
/// world outlives the heartbeat. If all ranks are on one computer it listens on the loopback only.
/// If one rank cannot listen, throws Error(usage) on all of them.
std::unique_ptr<Heartbeat> start_heartbeat(MpiWorld& world, const HeartbeatOptions& options,
                                           std::function<void(const Verdict&)> on_failure);

/// The last call of a run: returns when all ranks have made it. `world` then no longer uses the
/// heartbeat, so that both can be destroyed. Throws Error(peer) if a rank is lost meanwhile or
/// makes another call. All ranks call it together.
void leave_together(MpiWorld& world, Heartbeat& heartbeat);

/// The times that follow from --timeout, the longest silence of a peer.
HeartbeatTimes heartbeat_times(std::chrono::nanoseconds timeout);

/// How a rank exchanges texts with the others.
struct RankVoice {
  int rank = 0;
  /// Every rank gives a text and gets all of them, by rank.
  std::function<std::vector<std::string>(const std::string&)> exchange;
};
/// Throws Error(usage) if the ranks' texts differ, naming two ranks and the first line that
/// differs. All ranks call it together, with the same `subject`. Ranks exchange hashes, and whole
/// texts only if they differ.
void require_agreement(const RankVoice& voice, const std::string& subject, const std::string& text);

}  // namespace troika
