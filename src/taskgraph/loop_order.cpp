#include <algorithm>

#include "taskgraph/task_graph.h"

namespace troika {
namespace {

/// The first tasks of a step that touch and that write each memory, by root buffer; carried tasks
/// left out.
struct FirstUses {
  explicit FirstUses(const TaskGraph& graph)
      : touch(graph.buffers.size(), graph.tasks.size()), write(touch) {
    for (std::size_t at = graph.tasks.size(); at-- > 0;) {
      if (graph.tasks[at].carried) continue;
      for (const BufferUse& use : graph.tasks[at].uses) {
        std::size_t root = graph.root(use.buffer).index();
        touch[root] = at;
        if (use.access != Access::read) write[root] = at;
      }
    }
  }

  std::vector<std::size_t> touch, write;
};

}  // namespace

std::vector<bool> find_carried_memory(const TaskGraph& graph) {
  std::vector<bool> carried(graph.buffers.size());
  for (const Task& task : graph.tasks) {
    if (!task.carried) continue;
    for (const BufferUse& use : task.uses) carried[graph.root(use.buffer).index()] = true;
    if (task.scratch.valid()) carried[graph.root(task.scratch).index()] = true;
  }
  return carried;
}

std::vector<std::size_t> loop_order(const TaskGraph& graph) {
  FirstUses first(graph);
  // Before which task of the next step each one runs. In the order of the list, so a later carried
  // one holds the earlier ones back.
  std::vector<std::size_t> before(graph.tasks.size());
  std::size_t next = graph.tasks.size();
  for (std::size_t at = graph.tasks.size(); at-- > 0;) {
    const Task& task = graph.tasks[at];
    before[at] = at;
    if (!task.carried) continue;
    for (const BufferUse& use : task.uses) {
      std::size_t root = graph.root(use.buffer).index();
      next = std::min(next, (use.access == Access::read ? first.write : first.touch)[root]);
    }
    before[at] = next;
  }
  std::vector<std::size_t> order;
  for (std::size_t at = 0; at < graph.tasks.size(); ++at) order.push_back(at);
  std::ranges::stable_sort(
      order, {}, [&](std::size_t at) { return std::pair(before[at], !graph.tasks[at].carried); });
  return order;
}

}  // namespace troika
