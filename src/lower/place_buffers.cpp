#include "lower/place_buffers.h"

#include <algorithm>

#include "taskgraph/lifetimes.h"

namespace troika {
namespace {

const Candidate* chosen(const KernelTable& table, const Machine& machine, const Task& task) {
  if (!task.computes()) return nullptr;
  for (const Candidate& candidate : *table.find(machine[task.device].kind, task.key)) {
    if (candidate.algorithm == task.choice.algorithm &&
        (candidate.flat || candidate.layouts == task.choice.layouts))
      return &candidate;
  }
  return nullptr;
}

/// Lets results take the memory of operands that nobody needs any more.
class InPlaceSharing {
 public:
  explicit InPlaceSharing(TaskGraph& graph)
      : graph_(graph),
        place_(places_in(loop_order(graph))),
        lifetimes_(find_lifetimes(graph)),
        held_(graph.buffers.size()),
        input_(graph.buffers.size()) {
    for (std::size_t at = 0; at < graph.buffers.size(); ++at)
      if (graph.buffers[at].held) held_[graph.root(BufferId(at)).index()] = true;
    for (const auto& [name, input] : graph.inputs) input_[graph.root(input).index()] = true;
  }

  void share(std::size_t at, const Candidate& candidate) {
    const Task& task = graph_.tasks[at];
    for (const InPlace& pair : candidate.in_place) {
      BufferId operand = task.uses[static_cast<std::size_t>(pair.read)].buffer;
      BufferId result = task.uses[static_cast<std::size_t>(pair.write)].buffer;
      if (!can_take(at, operand, result)) continue;
      // The memory now lives as long as the result and all its views.
      std::size_t root = graph_.root(operand).index();
      Lifetime &life = lifetimes_[root], &after = lifetimes_[result.index()];
      life.last = std::max(life.last, after.last);
      life.outlives_pass = life.outlives_pass || after.outlives_pass;
      held_[root] = held_[root] || held_[result.index()];
      graph_[result].view_of = operand;
    }
  }

 private:
  /// Whether the memory of `operand` is free for `result` once the task `at` has read it.
  bool can_take(std::size_t at, BufferId operand, BufferId result) const {
    BufferId root = graph_.root(operand);
    const BufferSpec& target = graph_[result];
    if (graph_[root].persistent || target.persistent || target.view_of.valid() ||
        held_[root.index()])
      return false;
    if (graph_[root].device != target.device || graph_[operand].bytes() < target.bytes())
      return false;
    // The host writes the next input while the result is still needed.
    if (input_[root.index()] && lifetimes_[result.index()].outlives_pass) return false;
    // Another operand in the same memory could be read after it was overwritten.
    auto shares = [&](const BufferUse& use) { return graph_.root(use.buffer) == root; };
    const Lifetime& life = lifetimes_[root.index()];
    return !life.outlives_pass && life.last == place_[at] &&
           std::ranges::count_if(graph_.tasks[at].uses, shares) == 1;
  }

  TaskGraph& graph_;
  std::vector<std::size_t> place_;  // by task, in a pass
  std::vector<Lifetime> lifetimes_;
  std::vector<bool> held_;   // by root: read by the host, be it through a view
  std::vector<bool> input_;  // by root: written by the host
};

void share_in_place(TaskGraph& graph, const Machine& machine, const KernelTable& table) {
  InPlaceSharing sharing(graph);
  for (std::size_t at = 0; at < graph.tasks.size(); ++at)
    if (const Candidate* candidate = chosen(table, machine, graph.tasks[at]))
      sharing.share(at, *candidate);
}

/// `order`: what the arena of one device must hold.
void place_device(TaskGraph& graph, DeviceId device, std::vector<std::size_t> order,
                  const std::vector<Lifetime>& lifetimes) {
  std::vector<std::size_t> placed;
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

Bytes aligned(Bytes bytes) {
  constexpr std::int64_t kAlignment = 64;
  return {(bytes.count + kAlignment - 1) / kAlignment * kAlignment};
}

void place_buffers(TaskGraph& graph, const Machine& machine, const KernelTable& table) {
  share_in_place(graph, machine, table);
  std::vector<Lifetime> lifetimes = find_lifetimes(graph);
  std::vector<std::vector<std::size_t>> own(graph.arena.size());  // by device
  for (std::size_t at = 0; at < graph.buffers.size(); ++at) {
    const BufferSpec& buffer = graph.buffers[at];
    if (!buffer.persistent && !buffer.view_of.valid() && lifetimes[at].used)
      own[buffer.device.index()].push_back(at);
  }
  for (std::size_t device = 0; device < own.size(); ++device)
    place_device(graph, DeviceId(device), std::move(own[device]), lifetimes);
}

}  // namespace troika
