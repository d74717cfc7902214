// Ranks as processes of an MPI job. The heartbeat detects lost peers.
#pragma once

#include <memory>

#include "comm/heartbeat/heartbeat.h"
#include "comm/mpi/mpi_world.h"
#include "setup/ranks.h"

namespace troika {

/// Borrows both arguments, which must outlive the result.
std::unique_ptr<Ranks> make_mpi_ranks(MpiWorld& world, Heartbeat& heartbeat);

}  // namespace troika
