#include "lower/place_buffers.h"

#include <algorithm>

#include "taskgraph/verify.h"

namespace troika {
namespace {

constexpr std::int64_t kAlignment = 64;

Bytes aligned(Bytes bytes) { return {(bytes.count + kAlignment - 1) / kAlignment * kAlignment}; }

const Candidate* chosen(const KernelTable& table, const Task& task) {
  if (!task.computes()) return nullptr;
  for (const Candidate& candidate : *table.find(task.key)) {
    if (candidate.algorithm == task.choice.algorithm &&
        (candidate.flat || candidate.layouts == task.choice.layouts))
      return &candidate;
  }
  return nullptr;
}

/// Whether the host will read this memory, be it through a view.
bool is_held(const TaskGraph& graph, BufferId id) {
  for (std::size_t at = 0; at < graph.buffers.size(); ++at) {
    if (graph.buffers[at].held && graph.root(BufferId(at)) == graph.root(id)) return true;
  }
  return false;
}

/// Whether the memory of `operand` is free for `result` once the task `at` has read it.
bool can_take(const TaskGraph& graph, const std::vector<Lifetime>& lifetimes, std::size_t at,
              BufferId operand, BufferId result) {
  const BufferSpec& root = graph[graph.root(operand)];
  const BufferSpec& target = graph[result];
  if (root.persistent || target.persistent || target.view_of.valid() || is_held(graph, operand))
    return false;
  if (root.device != target.device || graph[operand].bytes() < target.bytes()) return false;
  // Another operand in the same memory could be read after it was overwritten.
  auto shares = [&](const BufferUse& use) { return graph.root(use.buffer) == graph.root(operand); };
  return lifetimes[graph.root(operand).index()].last == at &&
         std::ranges::count_if(graph.tasks[at].uses, shares) == 1;
}

void share_in_place(TaskGraph& graph, const KernelTable& table) {
  std::vector<Lifetime> lifetimes = find_lifetimes(graph);
  for (std::size_t at = 0; at < graph.tasks.size(); ++at) {
    const Task& task = graph.tasks[at];
    const Candidate* candidate = chosen(table, task);
    if (candidate == nullptr) continue;
    for (const InPlace& pair : candidate->in_place) {
      BufferId operand = task.uses[static_cast<std::size_t>(pair.read)].buffer;
      BufferId result = task.uses[static_cast<std::size_t>(pair.write)].buffer;
      if (!can_take(graph, lifetimes, at, operand, result)) continue;
      // The memory now lives as long as the result and all its views.
      Lifetime& life = lifetimes[graph.root(operand).index()];
      life.last = std::max(life.last, lifetimes[result.index()].last);
      graph[result].view_of = operand;
    }
  }
}

void place_device(TaskGraph& graph, DeviceId device) {
  std::vector<Lifetime> lifetimes = find_lifetimes(graph);
  std::vector<std::size_t> order, placed;
  for (std::size_t at = 0; at < graph.buffers.size(); ++at) {
    const BufferSpec& buffer = graph.buffers[at];
    if (!buffer.persistent && !buffer.view_of.valid() && buffer.device == device &&
        lifetimes[at].used)
      order.push_back(at);
  }
  std::ranges::stable_sort(order, std::greater{},
                           [&](std::size_t at) { return graph.buffers[at].bytes(); });
  for (std::size_t at : order) {
    std::vector<std::pair<Bytes, Bytes>> busy;  // [begin, end) of what lives at the same time
    for (std::size_t other : placed) {
      bool overlaps = lifetimes[other].first <= lifetimes[at].last &&
                      lifetimes[at].first <= lifetimes[other].last;
      const BufferSpec& there = graph.buffers[other];
      if (overlaps) busy.emplace_back(there.offset, there.offset + aligned(there.bytes()));
    }
    std::ranges::sort(busy);
    Bytes offset{};
    for (const auto& [begin, end] : busy) {
      if (offset + graph.buffers[at].bytes() <= begin) break;
      offset = std::max(offset, end);
    }
    graph.buffers[at].offset = offset;
    graph.arena[device.index()] =
        std::max(graph.arena[device.index()], offset + aligned(graph.buffers[at].bytes()));
    placed.push_back(at);
  }
}

}  // namespace

void place_buffers(TaskGraph& graph, const KernelTable& table) {
  share_in_place(graph, table);
  for (std::size_t device = 0; device < graph.arena.size(); ++device)
    place_device(graph, DeviceId(device));
}

}  // namespace troika
