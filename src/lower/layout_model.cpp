#include "lower/layout_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/error.h"

namespace troika {
namespace {

/// Without a measured time, each later candidate of a row counts as this much slower than the one
/// before.
constexpr double kRankPenalty = 1.25;

/// A view of the same shape lies as what it views.
std::size_t owner_of(const TaskGraph& graph, BufferId id) {
  BufferId of = graph[id].view_of;
  while (of.valid() && graph[of].spec.shape == graph[id].spec.shape) {
    id = of;
    of = graph[id].view_of;
  }
  return id.index();
}

bool travels_whole(const Communication& communication) {
  return communication.call.kind == Collective::all_reduce ||
         communication.call.kind == Collective::broadcast;
}

}  // namespace

LayoutModel::LayoutModel(const TaskGraph& graph, const KernelTable& table,
                         const LayoutSearchOptions& options)
    : graph_(graph), table_(table), machine_(options.machine), values_(graph.buffers.size()) {
  for (std::size_t at = 0; at < graph.buffers.size(); ++at)
    index_.push_back(owner_of(graph, BufferId(at)));
  tie_members();
  fix(options.storage);
  for (std::size_t at = 0; at < graph.tasks.size(); ++at) {
    note_uses(at);
    add_options(graph.tasks[at]);
  }
  choices_.resize(graph.tasks.size());
}

/// Messages carry buffers as they lie, so the members' must lie alike; where parts of a buffer
/// travel it must be plain.
void LayoutModel::tie_members() {
  std::vector<std::size_t> tied(graph_.buffers.size());  // to whom each is; itself: to nobody yet
  std::iota(tied.begin(), tied.end(), std::size_t{0});
  auto first_of = [&](std::size_t at) {
    while (tied[at] != at) at = tied[at] = tied[tied[at]];
    return at;
  };
  for (const Communication& communication : graph_.communications) {
    if (!travels_whole(communication)) continue;
    std::size_t first = first_of(index_[communication.buffers[0].index()]);
    for (BufferId buffer : communication.buffers) tied[first_of(index_[buffer.index()])] = first;
  }
  for (std::size_t& index : index_) index = first_of(index);
  for (const Communication& communication : graph_.communications)
    for (BufferId buffer : communication.buffers)
      if (!travels_whole(communication)) value_of(buffer).fixed = Layout::plain;
}

void LayoutModel::fix(const std::vector<StoredSlice>& storage) {
  std::map<std::string, Layout> stored;
  for (const StoredSlice& slice : storage) stored.emplace(slice.name, slice.layout);
  for (const auto& [name, id] : graph_.inputs) value_of(id).fixed = Layout::plain;
  for (std::size_t at = 0; at < values_.size(); ++at) {
    const BufferSpec& buffer = graph_.buffers[at];
    LayoutValue& value = value_of(BufferId(at));
    bool is_view = buffer.view_of.valid();
    if (buffer.held && is_view) value.wanted_plain = true;  // the host gets a copy
    if (buffer.held && !is_view) value.fixed = Layout::plain;
    if (auto found = stored.find(buffer.name); buffer.persistent && found != stored.end()) {
      TROIKA_CHECK(!value.fixed || *value.fixed == found->second,
                   fmt::format("'{}' is stored {} by another program, but needed {}", buffer.name,
                               to_string(found->second), to_string(*value.fixed)));
      value.fixed = found->second;
    }
    if (!is_view || graph_[buffer.view_of].spec.shape == buffer.spec.shape) continue;
    value.fixed = Layout::plain;
    value_of(buffer.view_of).wanted_plain = true;
  }
}

void LayoutModel::note_uses(std::size_t task) {
  if (!graph_.tasks[task].computes()) return;
  const std::vector<BufferUse>& uses = graph_.tasks[task].uses;
  for (std::size_t use = 0; use < uses.size(); ++use) {
    LayoutValue& value = value_of(uses[use].buffer);
    auto& places = uses[use].access == Access::read ? value.readers : value.writers;
    places.push_back({task, use});
  }
}

void LayoutModel::add_options(const Task& task) {
  std::vector<LayoutOption>& list = options_.emplace_back();
  if (!task.computes()) return;
  const DeviceSpec& device = machine_[task.device];
  const std::vector<Candidate>* row = table_.find(device.kind, task.key);
  TROIKA_CHECK(row != nullptr, "no row for " + to_text(task.key));
  if (row->empty())
    throw Error(ErrorKind::usage,
                fmt::format("no kernel for task '{}': {}", task.name, to_text(task.key)));
  auto [work, is_new] = work_.try_emplace(row);
  if (is_new) work->second = {flops_of(task.key), bytes_of(task.key)};
  SimTime by_rule = roofline_time(device, work->second.flops, work->second.bytes);
  for (const Candidate& candidate : *row) {
    list.push_back({{candidate.algorithm, candidate.layouts, candidate.scratch,
                     candidate.time.value_or(by_rule)},
                    candidate.flat});
    by_rule.count =
        static_cast<std::int64_t>(static_cast<double>(by_rule.count) * kRankPenalty) + 1;
  }
}

std::vector<KernelChoice> LayoutModel::variants(std::size_t task, const LayoutOption& option,
                                                const std::set<Layout>& layouts) const {
  std::vector<KernelChoice> all{option.choice};
  if (!option.flat) return all;
  const std::vector<BufferUse>& uses = graph_.tasks[task].uses;
  const Shape& shape = graph_[uses[0].buffer].spec.shape;
  for (Layout each : layouts) {
    if (each == Layout::plain || !fits(each, shape)) continue;
    KernelChoice& variant = all.emplace_back(option.choice);
    for (std::size_t use = 0; use < uses.size(); ++use)
      if (graph_[uses[use].buffer].spec.shape == shape) variant.layouts[use] = each;
  }
  return all;
}

std::optional<Layout> LayoutModel::at(OperandPlace place) const {
  const std::optional<KernelChoice>& choice = choices_[place.task];
  return choice ? std::optional(choice->layouts[place.operand]) : std::nullopt;
}

std::optional<Layout> LayoutModel::layout(const LayoutValue& value) const {
  if (value.fixed) return value.fixed;
  for (OperandPlace writer : value.writers)
    if (auto written = at(writer)) return written;
  return value.stored;
}

void LayoutModel::set_choice(std::size_t task, std::optional<KernelChoice> choice) {
  count(task, -1);
  choices_[task] = std::move(choice);
  count(task, +1);
}

void LayoutModel::count(std::size_t task, std::int32_t by) {
  if (!choices_[task]) return;
  const std::vector<BufferUse>& uses = graph_.tasks[task].uses;
  for (std::size_t use = 0; use < uses.size(); ++use) {
    LayoutValue& value = value_of(uses[use].buffer);
    LayoutCounts& counts = uses[use].access == Access::read ? value.wanted : value.written;
    counts[static_cast<std::size_t>(choices_[task]->layouts[use])] += by;
  }
}

std::set<Layout> LayoutModel::layouts_around(const LayoutValue& value) const {
  std::set<Layout> layouts;
  if (auto lies = layout(value)) layouts.insert(*lies);
  for (std::size_t at = 0; at < kLayouts; ++at)
    if (value.wanted[at] > 0) layouts.insert(static_cast<Layout>(at));
  return layouts;
}

double LayoutModel::reorder(const LayoutValue& value, Layout from, Layout to) const {
  auto [known, is_new] = reorders_.try_emplace({&value, from, to});
  if (!is_new) return known->second;
  OperandPlace any = value.readers.empty() ? value.writers.front() : value.readers.front();
  const Task& task = graph_.tasks[any.task];
  const TensorSpec& spec = graph_[task.uses[any.operand].buffer].spec;
  SimTime time = reorder_time(table_, machine_[task.device], spec, {from, to});
  return known->second = static_cast<double>(time.count);
}

double LayoutModel::value_cost(const LayoutValue& value, Layout lies) const {
  double cost = 0;
  for (std::size_t at = 0; at < kLayouts; ++at) {
    Layout other = static_cast<Layout>(at);
    if (other == lies) continue;
    if (value.written[at] > 0) return kNever;
    bool is_wanted = value.wanted[at] > 0 || (value.wanted_plain && other == Layout::plain);
    if (is_wanted) cost += reorder(value, lies, other);
  }
  return cost;
}

double LayoutModel::cost(const std::vector<std::size_t>& tasks) const {
  double sum = 0;
  std::set<const LayoutValue*> seen;
  for (std::size_t task : tasks) {
    sum += choices_[task] ? static_cast<double>(choices_[task]->time.count) : 0.0;
    for (const BufferUse& use : graph_.tasks[task].uses) {
      const LayoutValue& value = value_of(use.buffer);
      std::optional<Layout> lies = layout(value);
      if (lies && seen.insert(&value).second) sum += value_cost(value, *lies);
    }
  }
  return sum;
}

const Candidate& quickest(const std::vector<Candidate>& row) {
  return *std::ranges::min_element(row, [](const Candidate& a, const Candidate& b) {
    return a.time && b.time && *a.time < *b.time;
  });
}

SimTime reorder_time(const KernelTable& table, const DeviceSpec& device, const TensorSpec& spec,
                     Reorder layouts) {
  KernelKey key{layouts, {spec}, Phase::forward, {}};
  const std::vector<Candidate>* row = table.find(device.kind, key);
  if (row != nullptr && !row->empty() && quickest(*row).time) return *quickest(*row).time;
  return roofline_time(device, {}, spec.bytes() * 2);
}

}  // namespace troika
