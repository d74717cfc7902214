#include "sim/simulate.h"

#include <algorithm>

#include "base/error.h"

namespace troika {
Timeline simulate(const TaskGraph& graph, int steps) {
  TROIKA_CHECK(steps >= 1);
  std::vector<std::vector<Dependency>> into(graph.tasks.size());
  for (const Dependency& edge : graph.dependencies) into[edge.to].push_back(edge);

  std::vector<SimTime> device_free(graph.arena.size()), previous_end(graph.tasks.size());
  std::vector<SimTime> start(graph.tasks.size()), end(graph.tasks.size());
  std::vector<SimTime> all_started(graph.communications.size());
  SimTime step_begin;
  for (int step = 0; step < steps; ++step) {
    for (std::size_t task = 0; task < graph.tasks.size(); ++task) {
      SimTime& free = device_free[graph.tasks[task].device.index()];
      SimTime ready = free;
      for (const Dependency& edge : into[task])
        ready = std::max(ready, edge.distance == 0 ? end[edge.from] : previous_end[edge.from]);
      start[task] = ready;
      end[task] = free = ready + graph.tasks[task].choice.time;
      if (graph.tasks[task].computes()) continue;
      CommunicationId id = graph.tasks[task].communication;
      SimTime& started = all_started[id.index()];
      // Links are free when a communication starts: no queueing yet.
      if (graph.tasks[task].kind == TaskKind::start)
        started = std::max(started, end[task]);
      else
        end[task] = free = std::max(free, started + graph[id].time);
    }
    if (step + 1 < steps) previous_end = end;
    if (!start.empty()) step_begin = *std::ranges::min_element(start);
  }
  Timeline timeline;
  for (std::size_t task = 0; task < graph.tasks.size(); ++task)
    timeline.spans.push_back({graph.tasks[task].id, graph.tasks[task].device,
                              start[task] - step_begin, end[task] - step_begin});
  return timeline;
}

}  // namespace troika
