// What one rank does in the tests that start mpirun. Each scene ends by itself, throws, or is ended
// from outside.
#pragma once

#include <string>
#include <vector>

#include "comm/mpi/mpi_world.h"

namespace troika {

using Words = std::vector<std::string>;

/// Every device of every rank sends to every other, sizes and rounds over a grid, and checks what
/// arrives. words: devices per rank.
void exchange_messages(MpiWorld& world, const Words& words);
/// Prints the time of a message there and back, on rank 0. words: bytes, rounds.
void time_messages(MpiWorld& world, const Words& words);

}  // namespace troika
