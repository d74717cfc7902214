#include "lower/choose_kernels.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "lower/layout_search.h"

namespace troika {
namespace {

class Chooser {
 public:
  Chooser(TaskGraph& graph, const KernelTable& table, const ChooseOptions& options)
      : graph_(graph), table_(table), options_(options) {
    found_ = search_layouts(
        graph, table, {options.machine, options.storage, options.given, options.sliced_update});
    for (std::size_t at = 0; at < graph.buffers.size(); ++at)
      graph.buffers[at].layout = found_.buffers[at];
  }

  std::vector<KernelRequest> choose() {
    std::vector<Task> tasks = std::move(graph_.tasks);
    graph_.tasks.clear();
    for (std::size_t at = 0; at < tasks.size(); ++at) {
      if (tasks[at].computes()) tasks[at].choice = std::move(found_.tasks[at]);
      apply(tasks[at]);
      graph_.tasks.push_back(std::move(tasks[at]));
    }
    settle_outputs();
    return missing_;
  }

 private:
  /// The host reads plain memory, also through a view that no task reads.
  void settle_outputs() {
    for (auto& [name, id] : graph_.outputs) {
      if (!graph_[id].view_of.valid()) continue;
      BufferId plain = in_layout(id, Layout::plain);
      graph_[plain].held = true;
      id = plain;
    }
  }

  void apply(Task& task) {
    for (std::size_t at = 0; at < task.uses.size(); ++at) {
      BufferUse& use = task.uses[at];
      if (use.access == Access::read && task.computes())
        use.buffer = in_layout(use.buffer, task.choice.layouts[at]);
      else if (use.access == Access::read)
        settle_view(use.buffer);  // a message takes the bytes as they lie
      else
        forget_copies(use.buffer);
    }
    if (task.choice.scratch.count > 0) add_scratch(task);
  }

  /// The value in the layout wanted: itself, an earlier copy, or a new copy behind a reorder task.
  BufferId in_layout(BufferId id, Layout wanted) {
    settle_view(id);
    if (graph_[id].layout == wanted) return id;
    auto [copy, is_new] = copies_.try_emplace({id, wanted});
    if (is_new) copy->second = reorder(id, wanted);
    return copy->second;
  }

  /// A view under another shape needs what it views to lie plain.
  void settle_view(BufferId id) {
    BufferId of = graph_[id].view_of;
    if (!of.valid()) return;
    settle_view(of);
    if (graph_[id].spec.shape != graph_[of].spec.shape) {
      BufferId plain = in_layout(of, Layout::plain);
      graph_[id].view_of = plain;
    }
  }

  BufferId reorder(BufferId from, Layout to) {
    BufferSpec copy = graph_[from];
    KernelKey key{Reorder{copy.layout, to}, {copy.spec}, Phase::forward, {}};
    copy.name = fmt::format("{} as {}", copy.name, to_string(to));
    copy.layout = to;
    copy.persistent = copy.held = false;
    copy.view_of = {};
    copy.view_offset = {};
    if (copy.category == Category::parameter) copy.category = Category::workspace;
    Layout from_layout = graph_[from].layout;
    BufferId id(graph_.buffers.size());
    graph_.buffers.push_back(copy);
    Task task{.id = new_id(),
              .name = fmt::format("{} to {}", graph_[from].name, to_string(to)),
              .device = graph_[from].device,
              .key = key,
              .uses = {{from, Access::read}, {id, Access::write}}};
    const std::string& kind = options_.machine[task.device].kind;
    const std::vector<Candidate>* candidates = table_.find(kind, key);
    if (candidates != nullptr && candidates->empty())
      throw Error(ErrorKind::usage,
                  fmt::format("no kernel for task '{}': {}", task.name, to_text(key)));
    if (candidates == nullptr) {
      missing_.push_back({kind, key});
      task.choice = {"missing", {from_layout, to}, {}, {}};
    } else {
      const Candidate& best = quickest(*candidates);
      task.choice = {
          best.algorithm,
          {from_layout, to},
          best.scratch,
          reorder_time(table_, options_.machine[task.device], copy.spec, {from_layout, to})};
      if (task.choice.scratch.count > 0) add_scratch(task);
    }
    graph_.tasks.push_back(task);
    return id;
  }

  TaskId new_id() {
    if (fragment_ < 0) {
      fragment_ = static_cast<std::int32_t>(graph_.fragments.size());
      graph_.fragments.push_back("reorders");
    }
    return {fragment_, reorders_++};
  }

  void add_scratch(Task& task) {
    task.scratch = BufferId(graph_.buffers.size());
    TensorSpec spec{{(task.choice.scratch.count + 7) / 8}, DType::f64};
    graph_.buffers.push_back({.name = task.name + " scratch",
                              .spec = spec,
                              .device = task.device,
                              .category = Category::workspace});
  }

  void forget_copies(BufferId id) {
    std::erase_if(copies_, [&](const auto& copy) { return copy.first.first == id; });
  }

  TaskGraph& graph_;
  const KernelTable& table_;
  const ChooseOptions& options_;
  LayoutChoices found_;
  std::map<std::pair<BufferId, Layout>, BufferId> copies_;  // of values in other layouts
  std::vector<KernelRequest> missing_;
  std::int32_t fragment_ = -1, reorders_ = 0;
};

}  // namespace

std::vector<KernelRequest> choose_kernels(TaskGraph& graph, const KernelTable& table,
                                          const ChooseOptions& options) {
  return Chooser(graph, table, options).choose();
}

}  // namespace troika
