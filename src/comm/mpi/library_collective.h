// The MPI library's own collectives, which compete with our recipes as one more algorithm.
#pragma once

#include <mpi.h>

#include <functional>
#include <memory>
#include <mutex>
#include <span>

#include "comm/mpi/mpi_world.h"

namespace troika {

/// Owns the communicator from here on. `lock` is borrowed and may be null.
std::unique_ptr<LibraryCollective> make_library_collective(const LibraryCall& call,
                                                           std::span<std::byte> vector,
                                                           MPI_Comm communicator, std::mutex* lock,
                                                           std::function<void()> check);

}  // namespace troika
