// The time that the runtime itself takes in a step, besides kernels and messages.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/units.h"

namespace troika {

/// A process hands a pass of the loop to all its devices and waits for all of them before the next.
struct LoopProcess {
  std::vector<std::int32_t> lanes;  ///< Devices, or in a folded graph the classes of devices.
  /// From the end of its last device to the next pass: inputs are copied and devices are woken.
  SimTime rest{};

  bool operator==(const LoopProcess&) const = default;
};

/// All zero in graphs that are written by hand. A lane in no process begins its next pass at once.
struct RuntimeCosts {
  SimTime task{};         ///< Of each task that computes, in addition to its kernel.
  SimTime message_end{};  ///< Of each start and each finish.
  /// A thread on a spare core moves a device's messages while it computes; otherwise the device
  /// does so between two kernels.
  bool moves_beside = false;
  std::vector<LoopProcess> processes{};

  /// A step between other programs takes this much longer than its tasks.
  SimTime longest_rest() const {
    SimTime longest{};
    for (const LoopProcess& process : processes) longest = std::max(longest, process.rest);
    return longest;
  }
  bool operator==(const RuntimeCosts&) const = default;
};

}  // namespace troika
