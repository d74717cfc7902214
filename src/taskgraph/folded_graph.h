// A task graph in which one device stands for all that do the same (docs/design.md, Folding): what
// is simulated while a plan is looked for. Without names, buffers and addresses, which a rank gives
// to the tasks of its own devices.
#pragma once

#include <compare>
#include <cstdint>
#include <vector>

#include "base/units.h"
#include "taskgraph/task_graph.h"
#include "taskgraph/turn.h"

namespace troika {

/// A partition of the devices of a machine.
struct Classes {
  std::vector<std::int32_t> of_device;  ///< By device. Numbered by the first device of each class.
  std::vector<std::int32_t> first;      ///< By class: its first device.
  std::vector<std::int32_t> size;       ///< By class.

  std::int32_t count() const { return static_cast<std::int32_t>(first.size()); }
  bool operator==(const Classes&) const = default;
};

/// Names the communications of a class by what they are for, and by one of their members: the first
/// device of that one's class, and which of the device's parts it plays. The member that gives the
/// smallest name is used.
struct FoldedCall {
  std::int32_t kind = -1;  ///< -1: none.
  std::int32_t of = 0;
  std::int32_t micro_batch = 0;
  std::int32_t device = 0, part = 0;

  auto operator<=>(const FoldedCall&) const = default;
};

/// Stands for the same task of each device of a class.
struct FoldedTask {
  Turn turn;
  PackedId id;     ///< Of the task of the class's first device.
  SimTime time{};  ///< Of a finish: of the communication, from when all members have started it.
  std::uint64_t urgency = 0;  ///< Of a finish: of the communication.
  FoldedCall call{};
  /// Of a finish: what all communications of the class together occupy, on links that stand for
  /// those of their class.
  SharedPhases phases{};
  std::int16_t lag = 0;
  TaskKind kind = TaskKind::compute;

  /// The order in which a device runs its tasks.
  auto order() const { return std::tuple(turn, lag, id); }
  bool operator==(const FoldedTask&) const = default;
};

struct FoldedGraph {
  Classes classes;
  std::vector<std::vector<FoldedTask>> tasks;  ///< By class, in the order of a pass of the loop.
  std::vector<DirectedLink> links{};           ///< One for each class of links, in ascending order.
  RuntimeCosts runtime{};                      ///< Of one process of each class of processes.

  bool operator==(const FoldedGraph&) const = default;
};

}  // namespace troika
