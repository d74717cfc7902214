// The heartbeat of an MPI run: ports are opened, and addresses and the key go round over MPI.
#pragma once

#include <chrono>
#include <functional>
#include <memory>

#include "comm/heartbeat/heartbeat.h"
#include "comm/mpi/mpi_world.h"

namespace troika {

struct HeartbeatOptions {
  HeartbeatTimes times{};
  bool is_on = true;  ///< Off on all ranks where it is off on one.
  ListenOptions listen{};
};

/// All ranks call it together. From here on `world` throws, too, when a peer is lost; the heartbeat
/// ends before the world. It listens on the loopback alone where all ranks are on one computer.
/// Throws Error(usage) on all ranks where one cannot listen.
std::unique_ptr<Heartbeat> start_heartbeat(MpiWorld& world, const HeartbeatOptions& options,
                                           std::function<void(const Verdict&)> on_failure);

/// This rank has nothing more to do: returns when no rank has, neighbours or not, and `world` no
/// longer asks the heartbeat, so that both can be ended. Throws Error(peer) where a rank is lost
/// meanwhile, or still makes calls that wait for this one. All ranks call it together.
void leave_together(MpiWorld& world, Heartbeat& heartbeat);

/// The times where a peer may be silent for so long, as --timeout says.
HeartbeatTimes heartbeat_times(std::chrono::nanoseconds timeout);

/// How a rank speaks with the others.
struct RankVoice {
  int rank = 0;
  /// Every rank gives a text and gets all of them, by rank.
  std::function<std::vector<std::string>(const std::string&)> exchange;
};
/// Compares what the ranks are going to do: throws Error(usage) naming two ranks and the first line
/// in which their texts differ. All ranks call it together, with the same `subject`. Hashes go
/// round; whole texts only those of the two.
void require_agreement(const RankVoice& voice, const std::string& subject, const std::string& text);

}  // namespace troika
