// The ranks of an MPI job, watched by the heartbeat.
#pragma once

#include <memory>

#include "comm/heartbeat/heartbeat.h"
#include "comm/mpi/mpi_world.h"
#include "setup/ranks.h"

namespace troika {

/// Borrows both.
std::unique_ptr<Ranks> make_mpi_ranks(MpiWorld& world, Heartbeat& heartbeat);

}  // namespace troika
