#include "lower/choose_kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "base/error.h"
#include "lower/draft.h"

namespace troika {
namespace {

/// Without a measured time, each later candidate of a row counts as this much slower than the one
/// before.
constexpr double kRankPenalty = 1.25;

class Chooser {
 public:
  Chooser(TaskGraph& graph, const KernelTable& table, const ChooseOptions& options)
      : graph_(graph), table_(table), options_(options), decided_(graph.buffers.size()) {
    for (const auto& [name, id] : graph.inputs) decided_[id.index()] = true;
    for (std::size_t at = 0; at < graph.buffers.size(); ++at) decide_storage(BufferId(at));
  }

  std::vector<KernelKey> choose() {
    std::vector<Task> tasks = std::move(graph_.tasks);
    graph_.tasks.clear();
    for (Task& task : tasks) {
      choose_for(task);
      graph_.tasks.push_back(std::move(task));
    }
    settle_outputs();
    return missing_;
  }

 private:
  void decide_storage(BufferId id) {
    const BufferSpec& buffer = graph_[id];
    auto fixed = options_.storage.find(buffer.name);
    if (!buffer.persistent || fixed == options_.storage.end()) return;
    graph_[id].layout = fixed->second;
    decided_[id.index()] = true;
  }

  /// The host reads plain memory, also through a view that no task reads.
  void settle_outputs() {
    for (auto& [name, id] : graph_.outputs) {
      if (!graph_[id].view_of.valid()) continue;
      BufferId plain = in_layout(graph_.tasks.back(), id, Layout::plain);
      graph_[plain].held = true;
      id = plain;
    }
  }

  void choose_for(Task& task) {
    const std::vector<Candidate>* candidates = table_.find(task.key);
    TROIKA_CHECK(candidates != nullptr, "no row for " + to_text(task.key));
    if (candidates->empty())
      throw Error(ErrorKind::usage,
                  fmt::format("no kernel for task '{}': {}", task.name, to_text(task.key)));
    std::optional<KernelChoice> best;
    double best_cost = 0, penalty = 1;
    for (const Candidate& candidate : *candidates) {
      for (const KernelChoice& choice : variants(task, candidate)) {
        if (!is_possible(task, choice)) continue;
        double cost = static_cast<double>(choice.time.count) * penalty + reorder_cost(task, choice);
        if (!best || cost < best_cost) best = choice, best_cost = cost;
      }
      if (!candidate.time) penalty *= kRankPenalty;
    }
    TROIKA_CHECK(best.has_value(), "no possible kernel for " + task.name);
    task.choice = *best;
    apply(task);
  }

  /// A flat candidate once for each layout that its operands have now.
  std::vector<KernelChoice> variants(const Task& task, const Candidate& candidate) const {
    SimTime time = candidate.time ? *candidate.time
                                  : roofline_time(options_.machine[task.device], flops_of(task.key),
                                                  bytes_of(task.key));
    std::vector<KernelChoice> all{
        {candidate.algorithm, candidate.layouts, candidate.scratch, time}};
    if (!candidate.flat) return all;
    const Shape& shape = graph_[task.uses[0].buffer].spec.shape;
    std::set<Layout> seen{Layout::plain};
    for (const BufferUse& use : task.uses) {
      std::optional<Layout> now = layout_now(use.buffer);
      if (graph_[use.buffer].spec.shape != shape || !now || !seen.insert(*now).second) continue;
      KernelChoice& variant = all.emplace_back(all[0]);
      for (std::size_t at = 0; at < task.uses.size(); ++at)
        if (graph_[task.uses[at].buffer].spec.shape == shape) variant.layouts[at] = *now;
    }
    return all;
  }

  /// How the buffer lies, where that is settled. A view of the same shape lies as what it views.
  std::optional<Layout> layout_now(BufferId id) const {
    const BufferSpec& buffer = graph_[id];
    if (buffer.view_of.valid()) {
      if (buffer.spec.shape == graph_[buffer.view_of].spec.shape) return layout_now(buffer.view_of);
      return Layout::plain;
    }
    return decided_[id.index()] ? std::optional(buffer.layout) : std::nullopt;
  }

  /// The host reads plain memory; persistent buffers that are updated in place keep their layout.
  bool is_possible(const Task& task, const KernelChoice& choice) const {
    for (std::size_t at = 0; at < task.uses.size(); ++at) {
      const BufferSpec& buffer = graph_[task.uses[at].buffer];
      if (buffer.held && task.uses[at].access != Access::read &&
          choice.layouts[at] != Layout::plain)
        return false;
      std::optional<Layout> now = layout_now(task.uses[at].buffer);
      if (task.uses[at].access == Access::update && now && *now != choice.layouts[at]) return false;
    }
    return true;
  }

  double reorder_cost(const Task& task, const KernelChoice& choice) const {
    double cost = 0;
    for (std::size_t at = 0; at < task.uses.size(); ++at) {
      std::optional<Layout> now = layout_now(task.uses[at].buffer);
      if (task.uses[at].access != Access::read || !now || *now == choice.layouts[at]) continue;
      if (copies_.contains({task.uses[at].buffer, choice.layouts[at]})) continue;
      cost += static_cast<double>(
          roofline_time(options_.machine[task.device], {}, graph_[task.uses[at].buffer].bytes() * 2)
              .count);
    }
    return cost;
  }

  void apply(Task& task) {
    for (std::size_t at = 0; at < task.uses.size(); ++at) {
      BufferUse& use = task.uses[at];
      Layout wanted = task.choice.layouts[at];
      if (use.access == Access::read) use.buffer = in_layout(task, use.buffer, wanted);
      if (use.access != Access::read) {
        graph_[use.buffer].layout = wanted;
        decided_[use.buffer.index()] = true;
        forget_copies(use.buffer);
      }
    }
    if (task.choice.scratch.count > 0) add_scratch(task);
  }

  /// The value in the layout wanted: itself, an earlier copy, or a new copy behind a reorder task.
  BufferId in_layout(const Task& reader, BufferId id, Layout wanted) {
    settle_view(reader, id);
    std::optional<Layout> now = layout_now(id);
    if (!now) {
      graph_[id].layout = wanted;
      decided_[id.index()] = true;
      return id;
    }
    graph_[id].layout = *now;
    if (*now == wanted) return id;
    auto [copy, is_new] = copies_.try_emplace({id, wanted});
    if (is_new) copy->second = reorder(reader, id, wanted);
    return copy->second;
  }

  /// A view under another shape needs what it views to lie plain.
  void settle_view(const Task& reader, BufferId id) {
    BufferId of = graph_[id].view_of;
    if (!of.valid()) return;
    settle_view(reader, of);
    if (graph_[id].spec.shape != graph_[of].spec.shape) {
      BufferId plain = in_layout(reader, of, Layout::plain);
      graph_[id].view_of = plain;
    }
  }

  BufferId reorder(const Task& reader, BufferId from, Layout to) {
    BufferSpec copy = graph_[from];
    KernelKey key{Reorder{copy.layout, to}, {copy.spec}, Phase::forward, {}};
    copy.name = fmt::format("{} as {}", copy.name, to_string(to));
    copy.layout = to;
    copy.persistent = copy.held = false;
    copy.view_of = {};
    if (copy.category == Category::parameter) copy.category = Category::workspace;
    Layout from_layout = graph_[from].layout;
    BufferId id(graph_.buffers.size());
    graph_.buffers.push_back(copy);
    decided_.push_back(true);
    Task task{.id = new_task_id(graph_, "reorder " + graph_[from].name),
              .name = fmt::format("{} to {}", graph_[from].name, to_string(to)),
              .device = reader.device,
              .key = key,
              .uses = {{from, Access::read}, {id, Access::write}}};
    const std::vector<Candidate>* candidates = table_.find(key);
    if (candidates != nullptr && candidates->empty())
      throw Error(ErrorKind::usage,
                  fmt::format("no kernel for task '{}': {}", task.name, to_text(key)));
    if (candidates == nullptr) {
      missing_.push_back(key);
      task.choice = {"missing", {from_layout, to}, {}, {}};
    } else {
      const Candidate& first = candidates->front();
      SimTime time = first.time ? *first.time
                                : roofline_time(options_.machine[task.device], {}, bytes_of(key));
      task.choice = {first.algorithm, {from_layout, to}, first.scratch, time};
      if (task.choice.scratch.count > 0) add_scratch(task);
    }
    graph_.tasks.push_back(task);
    return id;
  }

  void add_scratch(Task& task) {
    task.scratch = BufferId(graph_.buffers.size());
    TensorSpec spec{{(task.choice.scratch.count + 7) / 8}, DType::f64};
    graph_.buffers.push_back({.name = task.name + " scratch",
                              .spec = spec,
                              .device = task.device,
                              .category = Category::workspace});
    decided_.push_back(true);
  }

  void forget_copies(BufferId id) {
    std::erase_if(copies_, [&](const auto& copy) { return copy.first.first == id; });
  }

  TaskGraph& graph_;
  const KernelTable& table_;
  const ChooseOptions& options_;
  std::vector<bool> decided_;                               // by BufferId
  std::map<std::pair<BufferId, Layout>, BufferId> copies_;  // of values in other layouts
  std::vector<KernelKey> missing_;
};

}  // namespace

std::vector<KernelKey> choose_kernels(TaskGraph& graph, const KernelTable& table,
                                      const ChooseOptions& options) {
  return Chooser(graph, table, options).choose();
}

}  // namespace troika
