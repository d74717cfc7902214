#include "taskgraph/check_writes.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/error.h"

namespace troika {
namespace {

/// Walks the tasks in order and knows which buffers have their values.
class WrittenBuffers {
 public:
  explicit WrittenBuffers(const TaskGraph& graph)
      : graph_(graph),
        written_(graph.buffers.size()),
        sharers_(graph.buffers.size()),
        longest_(graph.buffers.size()),
        views_(graph.buffers.size()) {
    for (std::size_t at = 0; at < graph.buffers.size(); ++at) {
      BufferId id(at), of = graph[id].view_of;
      begins_.push_back(graph.offset_in_root(id));
      if (!of.valid()) continue;
      std::size_t root = graph.root(id).index();
      sharers_[root].push_back(id);
      longest_[root] = std::max(longest_[root], graph[id].bytes());
      views_[of.index()].push_back(id);
    }
    for (std::vector<BufferId>& views : sharers_)
      std::ranges::stable_sort(views, {}, [&](BufferId id) { return begin_of(id); });
    for (const auto& [name, buffer] : graph.inputs) written_[buffer.index()] = true;
  }

  void walk(const Task& task) {
    for (const BufferUse& use : task.uses)
      TROIKA_CHECK(is_ready(task, use), fmt::format("task '{}' reads '{}' before it is written",
                                                    task.name, graph_[use.buffer].name));
    for (const BufferUse& use : task.uses) {
      if (use.access == Access::write)
        TROIKA_CHECK(
            !written_[use.buffer.index()],
            fmt::format("task '{}' writes '{}' again", task.name, graph_[use.buffer].name));
      if (task.is_update && use.access == Access::update) note_update(task, use.buffer);
      // What a member brings into a gathering is there before.
      if (use.access == Access::write && task.computes()) forget_memory(use.buffer);
      if (use.access != Access::read) written_[use.buffer.index()] = true;
    }
  }

 private:
  bool is_ready(const Task& task, const BufferUse& use) const {
    if (task.computes()) return use.access == Access::write || is_known(use.buffer);
    if (task.kind == TaskKind::finish) return true;
    const CollectiveCall& call = graph_[task.communication].call;
    if (call.kind != Collective::all_gather && call.kind != Collective::all_to_all)
      return use.access == Access::write || is_whole(use.buffer);
    Range own = call.ranges[static_cast<std::size_t>(task.member)];
    if (call.kind == Collective::all_gather) return is_known(use.buffer, own);
    // Of what it sends, a member's block for itself may be anything.
    return is_known(use.buffer, {0, own.begin}) && is_known(use.buffer, {own.end, call.count});
  }

  void note_update(const Task& task, BufferId id) {
    BufferId root = graph_.root(id);
    if (!graph_[root].persistent) return;
    for (BufferId earlier : updated_[root])
      TROIKA_CHECK(!overlap(earlier, id),
                   fmt::format("task '{}' updates '{}' again", task.name, graph_[id].name));
    updated_[root].push_back(id);
  }

  bool is_known(BufferId id) const {
    for (; id.valid(); id = graph_[id].view_of)
      if (written_[id.index()] || graph_[id].persistent) return true;
    return false;
  }

  /// As itself, or as all that is put into it through views.
  bool is_whole(BufferId id) const {
    if (is_known(id)) return true;
    for (BufferId view : views_[id.index()])
      if (!is_whole(view)) return false;
    return !views_[id.index()].empty();
  }

  /// Of a vector these elements, which lie one behind the other in views.
  bool is_known(BufferId id, Range elements) const {
    if (elements.empty() || is_known(id)) return true;
    Bytes size = size_of(graph_[id].spec.dtype), begin = size * elements.begin;
    for (BufferId view : views_[id.index()]) {
      const BufferSpec& part = graph_[view];
      if (part.view_offset == begin && begin < size * elements.end && written_[view.index()])
        begin += part.bytes();
    }
    return begin == size * elements.end;
  }

  /// Writing in place destroys every other buffer in that memory.
  void forget_memory(BufferId id) {
    std::size_t root = graph_.root(id).index();
    // A view of the padding leaves the root's own value as it is.
    const BufferSpec& whole = graph_.buffers[root];
    if (begin_of(id) < whole.bytes() - whole.padding) written_[root] = false;
    const std::vector<BufferId>& views = sharers_[root];
    Bytes begin = begin_of(id), end = begin + graph_[id].bytes();
    auto at = std::ranges::lower_bound(views, begin - longest_[root], {},
                                       [&](BufferId view) { return begin_of(view); });
    for (; at != views.end() && begin_of(*at) < end; ++at)
      if (overlap(id, *at)) written_[at->index()] = false;
  }
  Bytes begin_of(BufferId id) const { return begins_[id.index()]; }
  bool overlap(BufferId a, BufferId b) const {
    return begin_of(a) < begin_of(b) + graph_[b].bytes() &&
           begin_of(b) < begin_of(a) + graph_[a].bytes();
  }

  const TaskGraph& graph_;
  std::vector<bool> written_;
  std::map<BufferId, std::vector<BufferId>> updated_;  // by root, of what outlives the step
  std::vector<std::vector<BufferId>> sharers_;         // by root: all views, where they begin
  std::vector<Bytes> longest_;                         // by root: of the views
  std::vector<std::vector<BufferId>> views_;           // by what they are views of
  std::vector<Bytes> begins_;                          // in their root
};

}  // namespace

void check_writes(const TaskGraph& graph) {
  WrittenBuffers written(graph);
  for (const Task& task : graph.tasks) written.walk(task);
}

}  // namespace troika
