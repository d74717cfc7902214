// What one rank does in the tests that start mpirun. Each scene ends by itself, throws, or is ended
// from outside.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "comm/heartbeat/heartbeat.h"
#include "comm/mpi/mpi_world.h"
#include "differences.h"

namespace troika {

using Words = std::vector<std::string>;

struct Stage {
  MpiWorld& world;
  Heartbeat& heartbeat;
  std::filesystem::path folder;
};

/// Devices spread over the ranks, so many in each; joined by threads inside and MPI between.
std::vector<int> spread_devices(int ranks, int per_rank);
std::unique_ptr<Transport> join_devices(Stage& stage, const std::vector<int>& rank_of_device);
/// Calls body(device) on a thread for each device of this rank; rethrows what one of them threw.
void run_devices(Stage& stage, int per_rank, const std::function<void(DeviceId)>& body);

/// Every device of every rank sends to every other, sizes and rounds over a grid, and checks what
/// arrives. words: devices per rank.
void exchange_messages(Stage& stage, const Words& words);
/// Rank 0 prepares receives, starts them and drops them; then the same messages come in earnest.
void abandon_receives(Stage& stage, const Words& words);
/// Every algorithm of every collective gives the bits that it gives on threads, and with every type
/// and rule, MPI's own too, what a plain loop gives. words: devices per rank.
void compare_with_threads(Stage& stage, const Words& words);
/// Makes calls until the end of time; after some of them one rank makes another call than the
/// others. words: kind of difference, -1 for none.
void make_calls(Stage& stage, const Words& words);
/// All ranks end but one, which sleeps. words: that rank.
void sleep_late(Stage& stage, const Words& words);
/// Rank 1 fails while the others wait for it. words: usage, file, memory, bug, or device: its
/// transport is told, and nothing else.
void fail_alone(Stage& stage, const Words& words);
/// Compares texts of which one differs.
void disagree_at_start(Stage& stage, const Words& words);
/// Prints the time of a message from rank 0 to rank 1. words: bytes, rounds.
void time_messages(Stage& stage, const Words& words);

}  // namespace troika
