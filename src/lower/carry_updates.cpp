#include "lower/carry_updates.h"

#include <algorithm>
#include <map>

#include "ops/step_scalars.h"

namespace troika {
namespace {

bool is_update(const Task& task) {
  return task.computes() && task.is_update && !std::holds_alternative<Guard>(task.key.op);
}

bool is_copy(const Task& task) {
  return task.computes() &&
         (std::holds_alternative<Assemble>(task.key.op) ||
          std::holds_alternative<Sum>(task.key.op) || std::holds_alternative<Reorder>(task.key.op));
}

/// Where the updates and what brings their gradients begin, at the end of the list.
std::size_t find_tail(const TaskGraph& graph) {
  std::size_t tail = graph.tasks.size();
  while (tail > 0) {
    const Task& task = graph.tasks[tail - 1];
    if (task.computes() && !is_update(task) && !is_copy(task)) break;
    --tail;
  }
  return tail;
}

/// Memory that the updates of the tail touch, and what shares a task with it, by root buffer.
std::vector<bool> find_memory_of_updates(const TaskGraph& graph, std::size_t tail) {
  std::vector<bool> found(graph.buffers.size());
  for (bool grows = true; grows;) {
    grows = false;
    for (std::size_t at = tail; at < graph.tasks.size(); ++at) {
      const Task& task = graph.tasks[at];
      auto is_found = [&](const BufferUse& use) { return found[graph.root(use.buffer).index()]; };
      bool belongs = is_update(task) || std::ranges::any_of(task.uses, is_found);
      if (!belongs || std::ranges::all_of(task.uses, is_found)) continue;
      for (const BufferUse& use : task.uses) found[graph.root(use.buffer).index()] = true;
      grows = true;
    }
  }
  return found;
}

/// The device's scalars of the step before.
BufferId carried_scalars(TaskGraph& graph, BufferId scalars) {
  BufferSpec own = graph[scalars];
  own.name.replace(0, std::string_view(kScalarsName).size(), kCarriedScalarsName);
  graph.buffers.push_back(own);
  return BufferId(graph.buffers.size() - 1);
}

}  // namespace

void carry_updates(TaskGraph& graph) {
  if (graph.communications.empty()) return;
  std::size_t tail = find_tail(graph);
  std::vector<bool> of_updates = find_memory_of_updates(graph, tail);
  std::map<BufferId, BufferId> scalars;
  for (std::size_t at = tail; at < graph.tasks.size(); ++at) {
    Task& task = graph.tasks[at];
    auto belongs = [&](const BufferUse& use) { return of_updates[graph.root(use.buffer).index()]; };
    task.carried = std::ranges::any_of(task.uses, belongs);
    for (BufferUse& use : task.uses) {
      if (!task.carried || !graph[use.buffer].name.starts_with(kScalarsName)) continue;
      BufferId& own = scalars[use.buffer];
      if (!own.valid()) own = carried_scalars(graph, use.buffer);
      use.buffer = own;
    }
  }
}

}  // namespace troika
