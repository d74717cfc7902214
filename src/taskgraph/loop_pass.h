// One pass of a loop in its steady state, device by device: what the analyses of predicted and
// measured timelines read.
#pragma once

#include <string>
#include <vector>

#include "taskgraph/folded_graph.h"
#include "taskgraph/timeline.h"

namespace troika {

/// A task as it ran in the pass.
struct RanTask {
  std::size_t task = 0;  ///< Index into TaskGraph::tasks.
  SimTime start{};
  SimTime end{};

  SimTime time() const { return end - start; }
  bool operator==(const RanTask&) const = default;
};

/// What one device did.
struct PassRow {
  DeviceId device;
  std::vector<RanTask> tasks;  ///< In the order in which they ran.

  bool operator==(const PassRow&) const = default;
};

/// A plain value, but of use only beside the graph it was made with.
struct LoopPass {
  SimTime period{};           ///< From the beginning of a pass to that of the next one.
  std::vector<PassRow> rows;  ///< Of the devices that the timeline shows, in ascending order.
  /// By task of the graph: the number of its message, -1 for a task that computes. Starts and
  /// finishes of one message have the same number.
  std::vector<std::int32_t> messages;
  /// The tasks are those of one step that began from rest. Otherwise those that lag belong to
  /// earlier steps, which look like this one.
  bool is_one_step = false;
  /// What each start and each finish takes even if nothing is waited for.
  SimTime message_end{};

  /// How many passes before the one that is shown its step began.
  int passes_back(const Task& task) const { return is_one_step ? 0 : task.lag; }
  bool operator==(const LoopPass&) const = default;
};

/// The messages of a graph of all devices, or of those of one process.
std::vector<std::int32_t> messages_of(const TaskGraph& graph);
/// The messages of a graph that has the first device of each class: messages that are one in the
/// folded graph have one number, although the members that the graph has may belong to different
/// ones. Tasks of other devices have no message.
std::vector<std::int32_t> messages_of(const TaskGraph& graph, const FoldedGraph& folded);

/// One more than the greatest number.
std::size_t message_count(const std::vector<std::int32_t>& messages);

/// Spans of tasks that the graph does not have are left out.
LoopPass pass_of(const TaskGraph& graph, const Timeline& timeline, SimTime period,
                 std::vector<std::int32_t> messages);

/// "conv2d forward", "all_reduce start", "all_reduce".
std::string kind_of(const TaskGraph& graph, const Task& task);

}  // namespace troika
