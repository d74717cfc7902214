// The memory of a program: exact, known before the first step, by category at the moment of the
// peak.
#pragma once

#include <map>
#include <string>

#include "taskgraph/task_graph.h"

namespace troika {

struct MemoryTable {
  Bytes persistent{};
  Bytes arena{};  ///< Allocated for everything that does not outlive a step.
  std::map<Category, Bytes>
      categories;  ///< Persistent buffers, and what lives in the arena at its fullest moment.
  std::string peak_task;  ///< Which task runs at that moment.

  Bytes total() const { return persistent + arena; }
};

MemoryTable memory_of(const TaskGraph& graph, DeviceId device);

}  // namespace troika
