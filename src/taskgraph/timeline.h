// When each task of a step ran, in virtual or in real time: what `simulate` predicts and
// `Session::run` records, with the same ids, so that the two can be laid over each other.
#pragma once

#include <string>
#include <vector>

#include "taskgraph/task_graph.h"

namespace troika {

struct Span {
  TaskId task;
  DeviceId device;
  SimTime start{};  ///< Since the beginning of the step.
  SimTime end{};

  bool operator==(const Span&) const = default;
};

/// One pass of the loop: each task once, for the step that it belongs to. Tasks that lag show an
/// earlier step than the others, as both run in the same pass.
struct Timeline {
  std::vector<Span> spans;  ///< In the order of the task graph's list; of the devices seen.

  SimTime length() const;
};

/// Chrome's trace format (chrome://tracing, Perfetto): one row per device; a second timeline, if
/// given, is laid below as "predicted". A task that lags has `"lag"` among its arguments.
std::string to_chrome_trace(const TaskGraph& graph, const Timeline& measured,
                            const Timeline* predicted = nullptr);

}  // namespace troika
