#include "taskgraph/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/error.h"
#include "taskgraph/check_communications.h"
#include "taskgraph/check_lags.h"
#include "taskgraph/check_memory.h"
#include "taskgraph/check_order.h"
#include "taskgraph/check_writes.h"

namespace troika {
namespace {

void check_ids(const TaskGraph& graph) {
  std::vector<std::pair<TaskId, std::size_t>> ids;
  for (std::size_t at = 0; at < graph.tasks.size(); ++at) ids.emplace_back(graph.tasks[at].id, at);
  std::ranges::sort(ids);
  for (std::size_t at = 1; at < ids.size(); ++at)
    TROIKA_CHECK(ids[at - 1].first != ids[at].first,
                 fmt::format("the id of task '{}' is taken", graph.tasks[ids[at].second].name));
}

void check_operands(const TaskGraph& graph, const Task& task,
                    const std::vector<Operand>& operands) {
  TROIKA_CHECK(operands.size() == task.uses.size(),
               fmt::format("task '{}' has {} buffers for {} operands", task.name, task.uses.size(),
                           operands.size()));
  for (std::size_t at = 0; at < operands.size(); ++at) {
    const BufferSpec& buffer = graph[task.uses[at].buffer];
    TROIKA_CHECK(buffer.spec == operands[at].spec,
                 fmt::format("task '{}' wants {} for '{}' but buffer '{}' is {}", task.name,
                             to_string(operands[at].spec), operands[at].name, buffer.name,
                             to_string(buffer.spec)));
    TROIKA_CHECK(operands[at].access == task.uses[at].access,
                 fmt::format("task '{}' uses '{}' in the wrong way", task.name, operands[at].name));
  }
}

void check_layouts(const TaskGraph& graph, const Task& task) {
  TROIKA_CHECK(task.choice.layouts.size() == task.uses.size(),
               fmt::format("task '{}' has no kernel", task.name));
  for (std::size_t at = 0; at < task.uses.size(); ++at) {
    const BufferSpec& buffer = graph[task.uses[at].buffer];
    TROIKA_CHECK(buffer.layout == task.choice.layouts[at],
                 fmt::format("task '{}' wants '{}' {} but it lies {}", task.name, buffer.name,
                             to_string(task.choice.layouts[at]), to_string(buffer.layout)));
  }
}

/// The key alone only shows that boxes of these extents fit.
void check_boxes(const Task& task) {
  const auto* op = std::get_if<Assemble>(&task.key.op);
  if (op == nullptr) return;
  TROIKA_CHECK(contain_boxes(task.key.inputs, *op, task.position),
               fmt::format("task '{}' takes a box at [{}] that its input does not have", task.name,
                           fmt::join(task.position, ",")));
  TROIKA_CHECK(make_up_y(*op, task.position),
               fmt::format("task '{}' puts boxes to [{}] that overlap or do not make up its result",
                           task.name, fmt::join(task.position, ",")));
}

/// What outlives a step is known by its name.
void check_names(const TaskGraph& graph) {
  std::set<std::string_view> names;
  for (const BufferSpec& buffer : graph.buffers)
    TROIKA_CHECK(!buffer.persistent || buffer.view_of.valid() || names.insert(buffer.name).second,
                 fmt::format("two states are called '{}'", buffer.name));
}

/// What is stored of a parameter or an optimizer state is all of it.
void check_covered(const StateEntry& tensor) {
  std::vector<Region> regions;
  for (const StoredPlace& place : *tensor.places)
    for (const RunBox& part : boxes_of(place)) {
      // Copies add nothing, and there may be thousands of them.
      if (!regions.empty() && regions.back() == part.box) continue;
      regions.push_back(part.box);
    }
  std::vector<Region> lacking = subtract(Region::whole(tensor.spec.shape), regions);
  TROIKA_CHECK(lacking.empty(),
               fmt::format("nobody stores {} of '{}'", to_string(lacking.front()), tensor.name));
}

/// Buffers of the state are just the places that the storage lists on the graph's devices.
void check_storage(const TaskGraph& graph) {
  std::set<std::pair<const StoredPlaces*, std::vector<std::int64_t>>> covered;
  std::map<std::string_view, std::pair<const StateEntry*, std::size_t>> tensors;  // and buffers
  for (const StateEntry& tensor : graph.storage) {
    TROIKA_CHECK(tensors.try_emplace(tensor.name, &tensor, 0).second,
                 fmt::format("'{}' is stored twice", tensor.name));
    const Shape& shape = tensor.spec.shape;
    if (covered.insert({tensor.places.get(), {shape.begin(), shape.end()}}).second)
      check_covered(tensor);
  }
  for (const BufferSpec& buffer : graph.buffers) {
    if (!buffer.persistent || buffer.part_of.empty()) continue;
    auto found = tensors.find(buffer.part_of);
    TROIKA_CHECK(found != tensors.end(), fmt::format("'{}' is part of '{}', which is not stored",
                                                     buffer.name, buffer.part_of));
    auto& [tensor, buffers] = found->second;
    const StoredPlace* place = find_place(*tensor, buffer.device, buffer.region);
    StoredPlace own{buffer.device, buffer.region, buffer.run, buffer.layout};
    TROIKA_CHECK(
        place != nullptr && *place == own && buffer.whole == tensor->spec.shape,
        fmt::format("'{}' is stored in another way than '{}' says", buffer.part_of, buffer.name));
    ++buffers;
  }
  for (const auto& [name, stored] : tensors) {
    auto here = [&](const StoredPlace& place) { return graph.holds(place.device); };
    auto places = std::ranges::count_if(*stored.first->places, here);
    TROIKA_CHECK(
        places == static_cast<std::ptrdiff_t>(stored.second),
        fmt::format("'{}' has {} places here, but {} buffers", name, places, stored.second));
  }
}

/// Ranks that have other devices run what they have in common in the same order.
void check_turns(const TaskGraph& graph, const std::vector<std::size_t>& order) {
  for (std::size_t at = 1; at < order.size(); ++at) {
    const Task &before = graph.tasks[order[at - 1]], &task = graph.tasks[order[at]];
    TROIKA_CHECK(
        before.turn <= task.turn,
        fmt::format("'{}' must run before '{}', whose turn is earlier", before.name, task.name));
  }
}

}  // namespace

void verify(const TaskGraph& graph, Stage stage) {
  check_ids(graph);
  const Task* before = nullptr;
  std::vector<Operand> operands;
  std::size_t positions = 0;
  for (const Task& task : graph.tasks) {
    if (!task.computes()) continue;
    // Tiles of one operator stand next to each other, with equal keys.
    if (before == nullptr || before->key != task.key) {
      operands = operands_of(task.key);
      positions = position_count(task.key);
    }
    before = &task;
    check_operands(graph, task, operands);
    TROIKA_CHECK(task.position.size() == positions,
                 fmt::format("task '{}' has a position of {} numbers, its kernel takes {}",
                             task.name, task.position.size(), positions));
    check_boxes(task);
    if (stage >= Stage::chosen) check_layouts(graph, task);
  }
  check_writes(graph);
  check_lags(graph);
  std::vector<std::size_t> order = loop_order(graph);
  check_communications(graph, order);
  check_names(graph);
  check_storage(graph);
  check_turns(graph, order);
  if (stage < Stage::placed) return;
  check_memory(graph, order);
  check_order(graph, order);
}

}  // namespace troika
