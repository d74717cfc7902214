#include "sim/pass_timeline.h"

#include <algorithm>

namespace troika {

Timeline empty_timeline(const TaskGraph& graph) {
  Timeline timeline;
  for (const Task& task : graph.tasks) timeline.spans.push_back({task.id, task.device, {}, {}});
  return timeline;
}

Timeline empty_timeline(const FoldedGraph& graph) {
  Timeline timeline;
  for (std::size_t at = 0; at < graph.tasks.size(); ++at) {
    DeviceId device(as_index(graph.classes.first[at]));
    for (const FoldedTask& task : graph.tasks[at])
      timeline.spans.push_back({task_id(task.id), device, {}, {}});
  }
  return timeline;
}

Timeline fill_timeline(Timeline timeline, std::span<const TaskRun> ran) {
  SimTime begin{std::numeric_limits<std::int64_t>::max()};
  for (const TaskRun& times : ran)
    if (times.start != TaskRun::kOpen) begin = std::min(begin, times.start);
  for (const TaskRun& times : ran) {
    Span& span = timeline.spans[as_index(times.task)];
    if (times.start != TaskRun::kOpen) span.start = times.start - begin;
    if (times.end != TaskRun::kOpen) span.end = times.end - begin;
  }
  return timeline;
}

}  // namespace troika
