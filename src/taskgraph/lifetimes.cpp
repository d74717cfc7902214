#include "taskgraph/lifetimes.h"

#include <algorithm>

namespace troika {

std::vector<std::size_t> places_in(const std::vector<std::size_t>& order) {
  std::vector<std::size_t> places(order.size());
  for (std::size_t at = 0; at < order.size(); ++at) places[order[at]] = at;
  return places;
}

std::vector<Lifetime> find_lifetimes(const TaskGraph& graph) {
  std::vector<Lifetime> lifetimes(graph.buffers.size());
  auto touch = [&](BufferId id, std::size_t place) {
    Lifetime& life = lifetimes[graph.root(id).index()];
    life.first = life.used ? std::min(life.first, place) : place;
    life.last = life.used ? std::max(life.last, place) : place;
    life.used = true;
  };
  std::vector<std::size_t> order = loop_order(graph);
  for (std::size_t place = 0; place < order.size(); ++place) {
    const Task& task = graph.tasks[order[place]];
    for (const BufferUse& use : task.uses) touch(use.buffer, place);
    if (task.scratch.valid()) touch(task.scratch, place);
  }
  for (const auto& [name, buffer] : graph.inputs) touch(buffer, 0);
  std::size_t end = order.empty() ? 0 : order.size() - 1;
  std::vector<bool> across_passes = find_memory_across_passes(graph);
  for (std::size_t at = 0; at < graph.buffers.size(); ++at) {
    BufferId id(at);
    if (graph[id].held) touch(id, end);
    bool is_lasting = graph[id].persistent && lifetimes[at].used;
    if (!is_lasting && !across_passes[at]) continue;
    touch(id, 0);
    touch(id, end);
    lifetimes[graph.root(id).index()].outlives_pass = true;
  }
  return lifetimes;
}

}  // namespace troika
