// The memory of a device over a step, predicted or measured.
#pragma once

#include <map>
#include <vector>

#include "taskgraph/loop_pass.h"

namespace troika {

struct MemoryMoment {
  SimTime time{};  ///< From here to the next moment, the last one to the end of the pass.
  std::map<Category, Bytes> bytes;

  Bytes total() const;
  bool operator==(const MemoryMoment&) const = default;
};

/// What the buffers of the row's device hold: those that outlive a step all the time, each other
/// one from the start of the first task that uses it to the end of the last one. Gaps between
/// buffers and what messages hold beside them are not counted. Of a pass of a steady loop.
std::vector<MemoryMoment> live_memory(const TaskGraph& graph, const PassRow& row);

}  // namespace troika
