#include "taskgraph/lifetimes.h"

#include <algorithm>

namespace troika {

std::vector<Lifetime> find_lifetimes(const TaskGraph& graph) {
  std::vector<Lifetime> lifetimes(graph.buffers.size());
  auto touch = [&](BufferId id, std::size_t task) {
    Lifetime& life = lifetimes[graph.root(id).index()];
    life.first = life.used ? std::min(life.first, task) : task;
    life.last = life.used ? std::max(life.last, task) : task;
    life.used = true;
  };
  for (std::size_t at = 0; at < graph.tasks.size(); ++at) {
    for (const BufferUse& use : graph.tasks[at].uses) touch(use.buffer, at);
    if (graph.tasks[at].scratch.valid()) touch(graph.tasks[at].scratch, at);
  }
  for (const auto& [name, buffer] : graph.inputs) touch(buffer, 0);
  std::vector<bool> carried = find_carried_memory(graph);
  for (std::size_t at = 0; at < carried.size(); ++at) {
    if (!carried[at]) continue;
    touch(BufferId(at), 0);
    touch(BufferId(at), graph.tasks.size() - 1);
  }
  for (std::size_t at = 0; at < graph.buffers.size(); ++at) {
    if (graph.buffers[at].held)
      touch(BufferId(at), graph.tasks.empty() ? 0 : graph.tasks.size() - 1);
  }
  return lifetimes;
}

}  // namespace troika
