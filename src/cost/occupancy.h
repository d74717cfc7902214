// How the devices of a computer share its cores and its memory, and how that changes the times of
// kernels.
#pragma once

#include <cstdint>
#include <map>

#include "machine/machine.h"

namespace troika {

struct Occupancy {
  std::int32_t devices = 1;  ///< Of a computer, that compute.
  /// Of them, as many as its cores can run at the same time; the others wait for their turn.
  std::int32_t at_once = 1;

  bool operator==(const Occupancy&) const = default;
};

/// Returns the occupancy of a computer with so many devices whose cores can run `at_once` of them.
Occupancy occupancy_of(std::int32_t devices, std::int32_t at_once);
/// Returns that of the node with the most devices, because a step waits for the slowest one. It
/// depends only on the number of devices per node, so devices of one kind have equal times.
Occupancy occupancy_of(const Machine& machine, std::int32_t at_once);

/// Bytes per second of long vectors on each of so many devices of a computer that compute at once.
using MemoryRates = std::map<std::int32_t, double>;

struct Reoccupation {
  Occupancy from, to;
};

/// Returns the time of a kernel at another occupancy. The part of it that its bytes take at the
/// memory rate changes with that rate; devices without a core of their own take turns. Rates
/// between two measured ones are interpolated, beyond them the nearest holds; without any rate only
/// turns count.
SimTime reoccupied(SimTime time, Bytes bytes, const MemoryRates& rates, Reoccupation change);

/// The same on a computer of which only so many devices compute at the same time, on average.
SimTime reoccupied(SimTime time, Bytes bytes, const MemoryRates& rates, const Occupancy& from,
                   double busy);

}  // namespace troika
