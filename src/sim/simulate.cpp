#include "sim/simulate.h"

#include <algorithm>

#include "base/error.h"

namespace troika {
namespace {

/// Whether the edge leads from a start of the communication that the task finishes.
bool is_start_for(const TaskGraph& graph, const Dependency& edge, std::size_t task) {
  const Task &from = graph.tasks[edge.from], &to = graph.tasks[task];
  return from.kind == TaskKind::start && to.kind == TaskKind::finish &&
         from.communication == to.communication;
}

}  // namespace

Timeline simulate(const TaskGraph& graph, int steps) {
  TROIKA_CHECK(steps >= 1);
  std::vector<std::vector<Dependency>> into(graph.tasks.size());
  for (const Dependency& edge : graph.dependencies) into[edge.to].push_back(edge);

  std::vector<SimTime> device_free(graph.arena.size()), previous_end(graph.tasks.size());
  std::vector<SimTime> start(graph.tasks.size()), end(graph.tasks.size());
  SimTime step_begin;
  for (int step = 0; step < steps; ++step) {
    for (std::size_t task = 0; task < graph.tasks.size(); ++task) {
      SimTime& free = device_free[graph.tasks[task].device.index()];
      SimTime ready = free;
      SimTime peers = ready;
      for (const Dependency& edge : into[task]) {
        SimTime& after = is_start_for(graph, edge, task) ? peers : ready;
        after = std::max(after, edge.distance == 0 ? end[edge.from] : previous_end[edge.from]);
      }
      start[task] = ready;
      end[task] = free = ready + graph.tasks[task].choice.time;
      // Links are free when a communication starts: no queueing yet.
      if (graph.tasks[task].kind == TaskKind::finish)
        end[task] = free = std::max(free, peers + graph[graph.tasks[task].communication].time);
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
