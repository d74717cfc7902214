// The heartbeat of an MPI run: ports are opened, and addresses and the key go round over MPI.
#pragma once

#include <functional>
#include <memory>

#include "comm/heartbeat/heartbeat.h"
#include "comm/mpi/mpi_world.h"

namespace troika {

/// All ranks call it together. From here on `world` throws, too, when a peer is lost; the heartbeat
/// ends before the world.
std::unique_ptr<Heartbeat> start_heartbeat(MpiWorld& world, HeartbeatTimes times,
                                           std::function<void(const Error&)> on_failure);

/// Compares what the ranks are going to do: throws Error(usage) naming two ranks and the first line
/// in which their texts differ. All ranks call it together, with the same `subject`.
void require_agreement(MpiWorld& world, const std::string& subject, const std::string& text);

}  // namespace troika
