#include "taskgraph/memory_table.h"

#include "taskgraph/verify.h"

namespace troika {
namespace {

/// The task during which the live buffers of the arena are largest together.
std::size_t fullest_moment(const TaskGraph& graph, DeviceId device,
                           const std::vector<Lifetime>& lifetimes) {
  std::vector<std::int64_t> change(graph.tasks.size() + 1);
  for (std::size_t at = 0; at < graph.buffers.size(); ++at) {
    const BufferSpec& buffer = graph.buffers[at];
    if (buffer.persistent || buffer.view_of.valid() || !lifetimes[at].used ||
        buffer.device != device)
      continue;
    change[lifetimes[at].first] += buffer.bytes().count;
    change[lifetimes[at].last + 1] -= buffer.bytes().count;
  }
  std::int64_t live = 0, most = -1;
  std::size_t moment = 0;
  for (std::size_t task = 0; task < graph.tasks.size(); ++task) {
    live += change[task];
    if (live > most) most = live, moment = task;
  }
  return moment;
}

}  // namespace

MemoryTable memory_of(const TaskGraph& graph, DeviceId device) {
  std::vector<Lifetime> lifetimes = find_lifetimes(graph);
  std::size_t moment = fullest_moment(graph, device, lifetimes);
  MemoryTable table{.arena = graph.arena[device.index()]};
  if (!graph.tasks.empty()) table.peak_task = graph.tasks[moment].name;
  for (std::size_t at = 0; at < graph.buffers.size(); ++at) {
    const BufferSpec& buffer = graph.buffers[at];
    if (buffer.view_of.valid() || buffer.device != device) continue;
    bool live = lifetimes[at].used && lifetimes[at].first <= moment && moment <= lifetimes[at].last;
    if (buffer.persistent) table.persistent += buffer.bytes();
    if (buffer.persistent || live) table.categories[buffer.category] += buffer.bytes();
  }
  return table;
}

}  // namespace troika
