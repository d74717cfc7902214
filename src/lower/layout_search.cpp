#include "lower/layout_search.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <set>
#include <tuple>

#include "base/error.h"

namespace troika {
namespace {

/// Without a measured time, each later candidate of a row counts as this much slower than the one
/// before.
constexpr double kRankPenalty = 1.25;
constexpr int kMostSweeps = 20;
constexpr double kNever = std::numeric_limits<double>::infinity();

/// One operand of one task.
struct Place {
  std::size_t task, operand;
};

/// A buffer, with the views of its own shape.
struct Value {
  std::optional<Layout> fixed;   ///< By the host, another program, or a view of another shape.
  std::optional<Layout> stored;  ///< Of a parameter that no task writes.
  std::vector<Place> writers;    ///< They agree; the first one decides.
  std::vector<Place> readers;
  bool wanted_plain = false;  ///< Read through a view of another shape.
};

/// Tasks that pass a layout on, joined by the values between them, and the tasks around them.
struct Group {
  std::vector<std::size_t> members, around;
};

class Search {
 public:
  Search(const TaskGraph& graph, const KernelTable& table, const LayoutSearchOptions& options)
      : graph_(graph), table_(table), options_(options), values_(graph.buffers.size()) {
    fix();
    for (std::size_t at = 0; at < graph.tasks.size(); ++at) note_uses(at);
    choices_.resize(graph.tasks.size());
  }

  LayoutChoices run() {
    find_groups();
    sweep_tasks();
    bool moved = true;
    for (int sweep = 0; sweep < kMostSweeps && moved; ++sweep) {
      moved = false;
      for (const Group& group : groups_) moved = improve(group) || moved;
      moved = sweep_tasks() || moved;
    }
    LayoutChoices found;
    for (std::size_t at = 0; at < values_.size(); ++at)
      found.buffers.push_back(layout(value_of(BufferId(at))).value_or(Layout::plain));
    for (std::optional<KernelChoice>& choice : choices_) found.tasks.push_back(std::move(*choice));
    return found;
  }

 private:
  /// A view of the same shape lies as what it views.
  Value& value_of(BufferId id) {
    BufferId of = graph_[id].view_of;
    while (of.valid() && graph_[of].spec.shape == graph_[id].spec.shape) {
      id = of;
      of = graph_[id].view_of;
    }
    return values_[id.index()];
  }

  void fix() {
    for (const auto& [name, id] : graph_.inputs) value_of(id).fixed = Layout::plain;
    for (std::size_t at = 0; at < values_.size(); ++at) {
      const BufferSpec& buffer = graph_.buffers[at];
      Value& value = value_of(BufferId(at));
      if (buffer.held && buffer.view_of.valid()) value.wanted_plain = true;  // it gets a copy
      if (buffer.held && !buffer.view_of.valid()) value.fixed = Layout::plain;
      if (auto found = options_.storage.find(buffer.name);
          buffer.persistent && found != options_.storage.end())
        value.fixed = found->second;
      if (!buffer.view_of.valid() || &value != &values_[at]) continue;
      value.fixed = Layout::plain;
      value_of(buffer.view_of).wanted_plain = true;
    }
  }

  void note_uses(std::size_t at) {
    const Task& task = graph_.tasks[at];
    for (std::size_t use = 0; use < task.uses.size(); ++use) {
      Value& value = value_of(task.uses[use].buffer);
      auto& places = task.uses[use].access == Access::read ? value.readers : value.writers;
      places.push_back({at, use});
    }
  }

  std::optional<Layout> at(Place place) const {
    const std::optional<KernelChoice>& choice = choices_[place.task];
    return choice ? std::optional(choice->layouts[place.operand]) : std::nullopt;
  }

  std::optional<Layout> layout(const Value& value) const {
    if (value.fixed) return value.fixed;
    for (Place writer : value.writers)
      if (auto written = at(writer)) return written;
    return value.stored;
  }

  bool sweep_tasks() {
    bool moved = false;
    for (std::size_t at = 0; at < graph_.tasks.size(); ++at) moved = improve(at) || moved;
    for (Value& value : values_) moved = improve_storage(value) || moved;
    return moved;
  }

  /// Whether the operand lies as the first one, by every candidate of the task.
  bool is_tied(const Task& task, std::size_t operand, bool flat) const {
    const Shape& first = graph_[task.uses[0].buffer].spec.shape;
    const Shape& shape = graph_[task.uses[operand].buffer].spec.shape;
    return flat ? shape == first : shape.rank() == first.rank();
  }
  bool passes_layout_on(std::size_t at) const {
    const Task& task = graph_.tasks[at];
    return std::ranges::all_of(candidates(at), [&](const Candidate& candidate) {
      for (std::size_t use = 0; use < task.uses.size(); ++use)
        if (is_tied(task, use, candidate.flat) && candidate.layouts[use] != candidate.layouts[0])
          return false;
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
      grouped[first] = true;
      for (std::size_t next = 0; next < group.members.size(); ++next) {
        for (std::size_t other : neighbours(group.members[next])) {
          if (!passes[other]) around.insert(other);
          if (!passes[other] || grouped[other]) continue;
          grouped[other] = true;
          group.members.push_back(other);
        }
      }
      group.around.assign(around.begin(), around.end());
      groups_.push_back(std::move(group));
    }
  }

  /// Tasks that touch a value which this one hands on in its own layout.
  std::vector<std::size_t> neighbours(std::size_t at) {
    const Task& task = graph_.tasks[at];
    bool flat = candidates(at).front().flat;
    std::vector<std::size_t> found;
    for (std::size_t use = 0; use < task.uses.size(); ++use) {
      if (!is_tied(task, use, flat)) continue;
      const Value& value = value_of(task.uses[use].buffer);
      for (Place place : value.writers) found.push_back(place.task);
      for (Place place : value.readers) found.push_back(place.task);
    }
    return found;
  }

  const DeviceSpec& device(std::size_t task) const {
    return options_.machine[graph_.tasks[task].device];
  }

  double reorder(const Value& value, Layout from, Layout to) const {
    auto [known, is_new] = reorders_.try_emplace({&value, from, to});
    if (is_new) known->second = find_reorder(value, from, to);
    return known->second;
  }
  double find_reorder(const Value& value, Layout from, Layout to) const {
    Place any = value.readers.empty() ? value.writers.front() : value.readers.front();
    const TensorSpec& spec = graph_[graph_.tasks[any.task].uses[any.operand].buffer].spec;
    return static_cast<double>(reorder_time(table_, device(any.task), spec, {from, to}).count);
  }

  /// The time of all reorders that readers of the value need, if it lies so.
  double readers_cost(const Value& value, Layout lies) const {
    std::set<Layout> wanted;
    for (Place reader : value.readers)
      if (auto want = at(reader)) wanted.insert(*want);
    if (value.wanted_plain) wanted.insert(Layout::plain);
    double cost = 0;
    for (Layout want : wanted)
      if (want != lies) cost += reorder(value, lies, want);
    return cost;
  }

  /// The reorders of the value; infinite where its writers disagree with each other or with what
  /// is fixed.
  double value_cost(const Value& value, Layout lies) const {
    for (Place writer : value.writers)
      if (at(writer).value_or(lies) != lies) return kNever;
    return readers_cost(value, lies);
  }

  /// Of the choice, with all reorders around it.
  double cost(std::size_t task, const KernelChoice& choice, double penalty) {
    std::optional<KernelChoice> before = std::exchange(choices_[task], choice);
    double sum = static_cast<double>(choice.time.count) * penalty;
    std::set<const Value*> seen;
    for (const BufferUse& use : graph_.tasks[task].uses) {
      const Value& value = value_of(use.buffer);
      std::optional<Layout> lies = layout(value);
      if (lies && seen.insert(&value).second) sum += value_cost(value, *lies);
    }
    choices_[task] = std::move(before);
    return sum;
  }

  bool improve(std::size_t task) {
    std::optional<KernelChoice> best;
    double best_cost = kNever;
    double penalty = 1;
    const std::optional<KernelChoice> now = choices_[task];
    for (const Candidate& candidate : candidates(task)) {
      for (KernelChoice& choice : variants(task, candidate, layouts_around(task)))
        if (double sum = cost(task, choice, penalty); sum < best_cost)
          best = std::move(choice), best_cost = sum;
      if (!candidate.time) penalty *= kRankPenalty;
    }
    TROIKA_CHECK(best.has_value(), "no possible kernel for " + graph_.tasks[task].name);
    if (now && (*now == *best || cost(task, *now, 1) <= best_cost)) return false;
    choices_[task] = std::move(best);
    return true;
  }

  /// Tries the members in each layout that any task around writes or could take.
  bool improve(const Group& group) {
    std::vector<std::size_t> touched = group.members;
    touched.insert(touched.end(), group.around.begin(), group.around.end());
    std::set<Layout> layouts{Layout::plain};
    for (std::size_t task : touched)
      for (const Candidate& candidate : candidates(task))
        layouts.insert(candidate.layouts.begin(), candidate.layouts.end());
    bool moved = false;
    for (Layout each : layouts) moved = try_layout(group, touched, each) || moved;
    return moved;
  }

  bool try_layout(const Group& group, const std::vector<std::size_t>& touched, Layout wanted) {
    double before = total(touched);
    std::vector<std::optional<KernelChoice>> kept;
    for (std::size_t task : touched) kept.push_back(choices_[task]);
    for (std::size_t task : group.members) follow(task, wanted);
    for (std::size_t task : group.around) improve(task);
    if (total(touched) < before) return true;
    for (std::size_t at = 0; at < touched.size(); ++at) choices_[touched[at]] = std::move(kept[at]);
    return false;
  }

  /// The fastest kernel of that layout, where there is one that may be.
  void follow(std::size_t task, Layout wanted) {
    std::optional<KernelChoice> best;
    for (const Candidate& candidate : candidates(task)) {
      for (KernelChoice& choice : variants(task, candidate, {wanted}))
        if (choice.layouts[0] == wanted && is_free(task, choice) &&
            (!best || choice.time < best->time))
          best = std::move(choice);
    }
    if (best) choices_[task] = std::move(best);
  }

  /// What it writes is not fixed to lie otherwise.
  bool is_free(std::size_t task, const KernelChoice& choice) {
    for (std::size_t use = 0; use < choice.layouts.size(); ++use) {
      const BufferUse& used = graph_.tasks[task].uses[use];
      const Value& value = value_of(used.buffer);
      if (used.access == Access::read) continue;
      if (value.fixed.value_or(choice.layouts[use]) != choice.layouts[use]) return false;
    }
    return true;
  }

  /// The time of these tasks and of the reorders of all values that they touch.
  double total(const std::vector<std::size_t>& tasks) {
    double sum = 0;
    std::set<const Value*> seen;
    for (std::size_t task : tasks) {
      sum += static_cast<double>(choices_[task]->time.count);
      for (const BufferUse& use : graph_.tasks[task].uses) {
        const Value& value = value_of(use.buffer);
        if (!seen.insert(&value).second) continue;
        if (auto lies = layout(value)) sum += value_cost(value, *lies);
      }
    }
    return sum;
  }

  const std::vector<Candidate>& candidates(std::size_t at) const {
    const Task& task = graph_.tasks[at];
    const std::vector<Candidate>* found = table_.find(task.key);
    TROIKA_CHECK(found != nullptr, "no row for " + to_text(task.key));
    if (found->empty())
      throw Error(ErrorKind::usage,
                  fmt::format("no kernel for task '{}': {}", task.name, to_text(task.key)));
    return *found;
  }

  std::set<Layout> layouts_around(std::size_t at) {
    std::set<Layout> layouts;
    for (const BufferUse& use : graph_.tasks[at].uses)
      add_layouts_around(value_of(use.buffer), layouts);
    return layouts;
  }

  /// A flat candidate once for each of the layouts, and plain.
  std::vector<KernelChoice> variants(std::size_t at, const Candidate& candidate,
                                     std::set<Layout> layouts) {
    const Task& task = graph_.tasks[at];
    SimTime time = candidate.time
                       ? *candidate.time
                       : roofline_time(device(at), flops_of(task.key), bytes_of(task.key));
    std::vector<KernelChoice> all{
        {candidate.algorithm, candidate.layouts, candidate.scratch, time}};
    if (!candidate.flat) return all;
    const Shape& shape = graph_[task.uses[0].buffer].spec.shape;
    layouts.erase(Layout::plain);
    for (Layout each : layouts) {
      if (!fits(each, shape)) continue;
      KernelChoice& variant = all.emplace_back(all[0]);
      for (std::size_t use = 0; use < task.uses.size(); ++use)
        if (graph_[task.uses[use].buffer].spec.shape == shape) variant.layouts[use] = each;
    }
    return all;
  }

  void add_layouts_around(const Value& value, std::set<Layout>& layouts) const {
    if (auto lies = layout(value)) layouts.insert(*lies);
    for (Place reader : value.readers)
      if (auto want = at(reader)) layouts.insert(*want);
  }

  /// A parameter that no task writes lies as suits its readers best.
  bool improve_storage(Value& value) {
    if (value.fixed || !value.writers.empty() || value.readers.empty()) return false;
    std::set<Layout> layouts;
    add_layouts_around(value, layouts);
    std::optional<Layout> best;
    double best_cost = kNever;
    for (Layout each : layouts)
      if (double total = readers_cost(value, each); total < best_cost)
        best = each, best_cost = total;
    return std::exchange(value.stored, best) != best;
  }

  const TaskGraph& graph_;
  const KernelTable& table_;
  const LayoutSearchOptions& options_;
  std::vector<Value> values_;  // by BufferId
  std::vector<Group> groups_;
  std::vector<std::optional<KernelChoice>> choices_;                             // by task
  mutable std::map<std::tuple<const Value*, Layout, Layout>, double> reorders_;  // as far as asked
};

}  // namespace

SimTime reorder_time(const KernelTable& table, const DeviceSpec& device, const TensorSpec& spec,
                     Reorder layouts) {
  KernelKey key{layouts, {spec}, Phase::forward, {}};
  const std::vector<Candidate>* row = table.find(key);
  if (row != nullptr && !row->empty() && row->front().time) return *row->front().time;
  return roofline_time(device, {}, spec.bytes() * 2);
}

LayoutChoices search_layouts(const TaskGraph& graph, const KernelTable& table,
                             const LayoutSearchOptions& options) {
  return Search(graph, table, options).run();
}

}  // namespace troika
