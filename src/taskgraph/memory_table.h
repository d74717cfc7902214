// The memory of programs: exact, known before the first step, by category at the moment of the
// peak.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "taskgraph/task_graph.h"

namespace troika {

struct MemoryTable {
  Bytes persistent{};
  Bytes arena{};     ///< Allocated for everything that does not outlive a step.
  Bytes messages{};  ///< Memory of prepared messages besides the buffers that they move.
  /// Persistent buffers, what lives in the arena at its fullest moment, and the messages'.
  std::map<Category, Bytes> categories;
  std::string peak_task;  ///< Which task runs at that moment.

  Bytes total() const { return persistent + arena + messages; }
};

/// What each device holds for programs over one state: the state once, one arena in which the
/// largest of them has room, and the messages of all of them. Nothing for devices that are none of
/// the graphs'.
std::vector<MemoryTable> memory_by_device(const std::vector<const TaskGraph*>& programs);
/// What one of them does.
MemoryTable memory_of(const std::vector<const TaskGraph*>& programs, DeviceId device);
/// The same of one program alone.
MemoryTable memory_of(const TaskGraph& graph, DeviceId device);

/// What a program asks of its device's arena: its buffers, and room for the plain form of the
/// largest state that is stored in another, on its way from and to the host.
Bytes arena_needed(const TaskGraph& graph, DeviceId device);

}  // namespace troika
