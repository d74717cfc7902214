#include "lower/layout_search.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/error.h"

namespace troika {
namespace {

constexpr int kMostSweeps = 20;

/// Tasks that pass a layout on, joined by the values between them, and the tasks around them.
struct Group {
  std::vector<std::size_t> members, around;
};

/// Tasks that compute one tile, each on another device, with one key: a chain that is fused on some
/// of their devices only has kernels of its own. The first one decides for all.
struct Replicas {
  explicit Replicas(const TaskGraph& graph) : all(graph.tasks.size()) {
    std::map<TaskId, std::vector<std::size_t>> leaders;  // by the tile's first task; keys differ
    for (std::size_t at = 0; at < graph.tasks.size(); ++at) {
      const Task& task = graph.tasks[at];
      auto& leading = leaders[{task.id.fragment, task.id.index - task.replica}];
      auto same = std::ranges::find_if(
          leading, [&](std::size_t other) { return graph.tasks[other].key == task.key; });
      if (same == leading.end()) same = leading.insert(same, at);
      first.push_back(*same);
      all[*same].push_back(at);
    }
  }

  std::vector<std::size_t> first;             // by task
  std::vector<std::vector<std::size_t>> all;  // by first task
};

class Search {
 public:
  Search(const TaskGraph& graph, const KernelTable& table, const LayoutSearchOptions& options)
      : graph_(graph), model_(graph, table, options), replicas_(graph) {
    find_groups();
  }

  LayoutChoices run() {
    sweep_tasks();
    bool moved = true;
    for (int sweep = 0; sweep < kMostSweeps && moved; ++sweep) {
      moved = false;
      for (const Group& group : groups_) moved = improve(group) || moved;
      moved = sweep_tasks() || moved;
    }
    LayoutChoices found;
    for (std::size_t at = 0; at < graph_.buffers.size(); ++at)
      found.buffers.push_back(model_.layout(model_.value_of(BufferId(at))).value_or(Layout::plain));
    for (std::size_t at = 0; at < graph_.tasks.size(); ++at)
      found.tasks.push_back(model_.choice(at).value_or(KernelChoice{}));
    return found;
  }

 private:
  /// Whether the operand lies as the first one, by every candidate of the task.
  bool is_tied(const Task& task, std::size_t operand, bool flat) const {
    const Shape& first = graph_[task.uses[0].buffer].spec.shape;
    const Shape& shape = graph_[task.uses[operand].buffer].spec.shape;
    return flat ? shape == first : shape.rank() == first.rank();
  }

  bool passes_layout_on(std::size_t at) const {
    const Task& task = graph_.tasks[at];
    if (!task.computes()) return false;
    return std::ranges::all_of(model_.options(at), [&](const LayoutOption& option) {
      const std::vector<Layout>& layouts = option.choice.layouts;
      for (std::size_t use = 0; use < task.uses.size(); ++use)
        if (is_tied(task, use, option.flat) && layouts[use] != layouts[0]) return false;
      return true;
    });
  }

  void find_groups() {
    std::vector<bool> passes(graph_.tasks.size()), grouped(graph_.tasks.size());
    for (std::size_t at = 0; at < passes.size(); ++at) passes[at] = passes_layout_on(at);
    for (std::size_t first = 0; first < passes.size(); ++first) {
      if (!passes[first] || grouped[first]) continue;
      Group group{{first}, {}};
      std::set<std::size_t> around;
      std::set<const LayoutValue*> seen;
      grouped[first] = true;
      for (std::size_t next = 0; next < group.members.size(); ++next) {
        for (std::size_t other : neighbours(group.members[next], seen)) {
          if (!passes[other]) around.insert(other);
          if (!passes[other] || grouped[other]) continue;
          grouped[other] = true;
          group.members.push_back(other);
        }
      }
      group.around.assign(around.begin(), around.end());
      auto decides = [&](std::size_t task) { return replicas_.first[task] == task; };
      if (std::ranges::any_of(group.members, decides)) groups_.push_back(std::move(group));
    }
  }

  /// Tasks that touch a value which this one hands on in its own layout, and that is not yet seen.
  std::vector<std::size_t> neighbours(std::size_t at, std::set<const LayoutValue*>& seen) const {
    const Task& task = graph_.tasks[at];
    bool flat = model_.options(at).front().flat;
    std::vector<std::size_t> found;
    for (std::size_t use = 0; use < task.uses.size(); ++use) {
      if (!is_tied(task, use, flat)) continue;
      const LayoutValue& value = model_.value_of(task.uses[use].buffer);
      if (!seen.insert(&value).second) continue;
      for (OperandPlace place : value.writers) found.push_back(place.task);
      for (OperandPlace place : value.readers) found.push_back(place.task);
    }
    return found;
  }

  bool sweep_tasks() {
    bool moved = false;
    for (std::size_t at = 0; at < graph_.tasks.size(); ++at) moved = improve(at) || moved;
    for (LayoutValue& value : model_.values()) moved = improve_storage(value) || moved;
    return moved;
  }

  void set_choice(const std::vector<std::size_t>& tasks,
                  const std::optional<KernelChoice>& choice) {
    for (std::size_t task : tasks) model_.set_choice(task, choice);
  }

  bool improve(std::size_t task) {
    if (!graph_.tasks[task].computes() || replicas_.first[task] != task) return false;
    const std::vector<std::size_t>& all = replicas_.all[task];
    std::optional<KernelChoice> now = model_.choice(task), best = now;
    double best_cost = now ? model_.cost(all) : LayoutModel::kNever;
    std::set<Layout> layouts;
    for (std::size_t each : all)
      for (const BufferUse& use : graph_.tasks[each].uses)
        layouts.merge(model_.layouts_around(model_.value_of(use.buffer)));
    for (const LayoutOption& option : model_.options(task)) {
      for (KernelChoice& choice : model_.variants(task, option, layouts)) {
        set_choice(all, choice);
        if (double sum = model_.cost(all); sum < best_cost)
          best = std::move(choice), best_cost = sum;
      }
    }
    TROIKA_CHECK(best.has_value(), "no possible kernel for " + graph_.tasks[task].name);
    set_choice(all, best);
    return best != now;
  }

  /// Tries the members in each layout that any task around writes or could take.
  bool improve(const Group& group) {
    std::set<std::size_t> with_replicas;
    for (const std::vector<std::size_t>& tasks : {group.members, group.around})
      for (std::size_t task : tasks)
        with_replicas.insert(replicas_.all[replicas_.first[task]].begin(),
                             replicas_.all[replicas_.first[task]].end());
    std::vector<std::size_t> touched(with_replicas.begin(), with_replicas.end());
    std::set<Layout> layouts{Layout::plain};
    for (std::size_t task : touched)
      for (const LayoutOption& option : model_.options(task))
        layouts.insert(option.choice.layouts.begin(), option.choice.layouts.end());
    bool moved = false;
    for (Layout each : layouts) moved = try_layout(group, touched, each) || moved;
    return moved;
  }

  bool try_layout(const Group& group, const std::vector<std::size_t>& touched, Layout wanted) {
    double before = model_.cost(touched);
    std::vector<std::optional<KernelChoice>> kept;
    for (std::size_t task : touched) kept.push_back(model_.choice(task));
    for (std::size_t task : group.members) follow(task, wanted);
    for (std::size_t task : group.around) improve(replicas_.first[task]);
    if (model_.cost(touched) < before) return true;
    for (std::size_t at = 0; at < touched.size(); ++at)
      model_.set_choice(touched[at], std::move(kept[at]));
    return false;
  }

  /// The fastest kernel of that layout, where there is one that may be.
  void follow(std::size_t task, Layout wanted) {
    const std::vector<std::size_t>& all = replicas_.all[replicas_.first[task]];
    std::optional<KernelChoice> best;
    for (const LayoutOption& option : model_.options(task)) {
      for (KernelChoice& choice : model_.variants(task, option, {wanted}))
        if (choice.layouts[0] == wanted && (!best || choice.time < best->time) &&
            std::ranges::all_of(all, [&](std::size_t each) { return is_free(each, choice); }))
          best = std::move(choice);
    }
    if (best) set_choice(all, best);
  }

  /// What it writes is not fixed to lie otherwise.
  bool is_free(std::size_t task, const KernelChoice& choice) const {
    const std::vector<BufferUse>& uses = graph_.tasks[task].uses;
    for (std::size_t use = 0; use < uses.size(); ++use) {
      const LayoutValue& value = model_.value_of(uses[use].buffer);
      if (uses[use].access == Access::read) continue;
      if (value.fixed.value_or(choice.layouts[use]) != choice.layouts[use]) return false;
    }
    return true;
  }

  /// A parameter that no task writes lies as suits its readers best.
  bool improve_storage(LayoutValue& value) {
    if (value.fixed || !value.writers.empty() || value.readers.empty()) return false;
    std::optional<Layout> best;
    double best_cost = LayoutModel::kNever;
    for (Layout each : model_.layouts_around(value))
      if (double sum = model_.value_cost(value, each); sum < best_cost)
        best = each, best_cost = sum;
    return std::exchange(value.stored, best) != best;
  }

  const TaskGraph& graph_;
  LayoutModel model_;
  const Replicas replicas_;
  std::vector<Group> groups_;
};

}  // namespace

LayoutChoices search_layouts(const TaskGraph& graph, const KernelTable& table,
                             const LayoutSearchOptions& options) {
  return Search(graph, table, options).run();
}

}  // namespace troika
