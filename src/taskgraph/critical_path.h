// The chain of tasks and messages that decides how long a step takes, predicted or measured.
#pragma once

#include <vector>

#include "taskgraph/loop_pass.h"

namespace troika {

struct PathPart {
  enum class Kind {
    task,     ///< A kernel, or the start of a message.
    message,  ///< From the last start of its members to the end of the finish that waits for it.
    gap,      ///< Between two tasks of a device.
  };

  Kind kind = Kind::task;
  std::size_t task = 0;  ///< Index into TaskGraph::tasks; of a gap the task before it.
  DeviceId device;       ///< Which runs the task or waits for the message.
  SimTime start{}, end{};

  SimTime time() const { return end - start; }
  bool operator==(const PathPart&) const = default;
};

/// The last period of the pass, from its last task backwards: a task follows the one before it on
/// its device, or the message that its device waited for, which follows the last of its starts.
/// Parts are in order of time and without gaps between them, so they add up to the period; the
/// first one may be cut. What began in an earlier pass has times before the beginning of this one.
/// Empty if the pass is.
std::vector<PathPart> critical_path(const TaskGraph& graph, const LoopPass& pass);

}  // namespace troika
