#include "lower/carry_updates.h"

#include <algorithm>
#include <map>

#include "lower/order_tasks.h"
#include "ops/step_scalars.h"

namespace troika {
namespace {

bool is_update(const Task& task) {
  return task.computes() && task.is_update && !std::holds_alternative<Guard>(task.key.op);
}

/// The updates and what brings their gradients, at the end of each device's list.
std::vector<bool> find_tails(const TaskGraph& graph) {
  std::vector<bool> in_tail(graph.tasks.size());
  std::vector<bool> ended(graph.arena.size());  // by device
  for (std::size_t at = graph.tasks.size(); at-- > 0;) {
    const Task& task = graph.tasks[at];
    if (task.computes() && !is_update(task) && !is_copy(task)) ended[task.device.index()] = true;
    in_tail[at] = !ended[task.device.index()];
  }
  return in_tail;
}

/// Of the tails, what the updates touch, and what shares memory with that.
std::vector<bool> find_carried(const TaskGraph& graph) {
  std::vector<bool> in_tail = find_tails(graph), found(graph.buffers.size());  // by root
  auto is_found = [&](const BufferUse& use) { return found[graph.root(use.buffer).index()]; };
  for (bool grows = true; grows;) {
    grows = false;
    for (std::size_t at = 0; at < graph.tasks.size(); ++at) {
      const Task& task = graph.tasks[at];
      bool belongs = is_update(task) || std::ranges::any_of(task.uses, is_found);
      if (!in_tail[at] || !belongs || std::ranges::all_of(task.uses, is_found)) continue;
      for (const BufferUse& use : task.uses) found[graph.root(use.buffer).index()] = true;
      grows = true;
    }
  }
  std::vector<bool> carried(graph.tasks.size());
  for (std::size_t at = 0; at < graph.tasks.size(); ++at)
    carried[at] = in_tail[at] && std::ranges::any_of(graph.tasks[at].uses, is_found);
  return carried;
}

/// Whether a member would start a communication only in the next step that another one waits for in
/// this one.
bool waits_for_next_step(const TaskGraph& graph, const std::vector<bool>& carried) {
  std::vector<bool> starts_late(graph.communications.size()), ends_early(starts_late);
  for (std::size_t at = 0; at < graph.tasks.size(); ++at) {
    const Task& task = graph.tasks[at];
    if (task.kind == TaskKind::start && carried[at]) starts_late[task.communication.index()] = true;
    if (task.kind == TaskKind::finish && !carried[at])
      ends_early[task.communication.index()] = true;
  }
  for (std::size_t at = 0; at < starts_late.size(); ++at)
    if (starts_late[at] && ends_early[at]) return true;
  return false;
}

/// The device's scalars of the step before.
BufferId lagging_scalars(TaskGraph& graph, BufferId scalars) {
  BufferSpec own = graph[scalars];
  own.name.replace(0, std::string_view(kScalarsName).size(), scalars_name(1));
  graph.buffers.push_back(own);
  return BufferId(graph.buffers.size() - 1);
}

}  // namespace

void carry_updates(TaskGraph& graph) {
  if (graph.communications.empty()) return;
  std::vector<bool> carried = find_carried(graph);
  if (waits_for_next_step(graph, carried)) return;
  std::map<BufferId, BufferId> scalars;
  for (std::size_t at = 0; at < graph.tasks.size(); ++at) {
    Task& task = graph.tasks[at];
    task.lag = carried[at] ? 1 : 0;
    for (BufferUse& use : task.uses) {
      if (task.lag == 0 || !graph[use.buffer].name.starts_with(kScalarsName)) continue;
      BufferId& own = scalars[use.buffer];
      if (!own.valid()) own = lagging_scalars(graph, use.buffer);
      use.buffer = own;
    }
  }
}

}  // namespace troika
