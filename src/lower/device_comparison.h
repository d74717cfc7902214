// Finds how two devices of a plan differ. Each function looks at one thing and answers with a short
// sentence about the second device, or with nothing if they do not differ there.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "lower/plan_classes.h"

namespace troika {

/// Borrows everything.
struct DevicePair {
  const ProgramPlan& plan;
  const Classes& classes;
  std::int32_t before = 0, here = 0;  ///< Devices.

  const DeviceSpec& spec(std::int32_t device) const {
    return plan.request.machine->devices[as_index(device)];
  }
};

using Difference = std::optional<std::string>;

/// Kind, memory, speed.
Difference compare_hardware(const DevicePair& pair);

/// Tiles of operators in the order of the step, then stored parameters.
Difference compare_tiles(const DevicePair& pair);

/// What they do to bring values from their writers to their readers, whoever their partners are.
Difference compare_moves(const DevicePair& pair, AspectTable& aspects);

/// What they have in common with others: updates, terms of sums over the batch, buckets.
Difference compare_shares(const DevicePair& pair);

/// Sizes of their nodes and processes.
Difference compare_nodes(const DevicePair& pair);

/// Who the other members of their messages are, value by value.
Difference compare_partners(const DevicePair& pair);

/// Speeds of the links that they have themselves.
Difference compare_links(const DevicePair& pair);

/// Which classes the other devices of their nodes have.
Difference compare_neighbours(const DevicePair& pair);

/// Such as "conv1" or "gradient of conv1.weight".
std::string noun_of(const ProgramPlan& plan, std::size_t value);

/// "no tile", "1 tile", "2 tiles"
std::string counted_noun(std::int64_t count, const std::string& noun);

}  // namespace troika
