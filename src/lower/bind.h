// Gives the tasks of some devices names, regions, keys and memory: what runs.
#pragma once

#include <vector>

#include "lower/folding.h"

namespace troika {

/// Returns the task graph of these devices. Tasks are in the order of a step, by turn, those that
/// lag behind the others.
/// Communications have neither algorithm nor time yet. Checks that each device does the same as the
/// one that was planned for its class, so it needs no row that planning did not need.
TaskGraph bind_devices(Folding& folding, const std::vector<std::int32_t>& devices,
                       const KernelTable& table);

}  // namespace troika
