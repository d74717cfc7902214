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
}

/// What outlives a step is known by its name.
void check_names(const TaskGraph& graph) {
  std::set<std::string_view> names;
  for (const BufferSpec& buffer : graph.buffers)
    TROIKA_CHECK(!buffer.persistent || buffer.view_of.valid() || names.insert(buffer.name).second,
                 fmt::format("two states are called '{}'", buffer.name));
}

/// What is stored of a parameter or an optimizer state is all of it.
void check_slices(const TaskGraph& graph) {
  struct Stored {
    Shape whole;
    std::vector<Region> regions;
  };
  std::map<std::string, Stored> slices;
  for (const BufferSpec& buffer : graph.buffers) {
    if (!buffer.persistent || buffer.part_of.empty()) continue;
    Stored& stored = slices[buffer.part_of];
    stored.whole = buffer.whole;
    if (!buffer.run) stored.regions.push_back(buffer.region);
    for (const RunBox& part : boxes_of_run(buffer.region, buffer.run.value_or(Range{})))
      stored.regions.push_back(part.box);
  }
  for (const auto& [name, stored] : slices) {
    std::vector<Region> lacking = subtract(Region::whole(stored.whole), stored.regions);
    TROIKA_CHECK(lacking.empty(),
                 fmt::format("nobody stores {} of '{}'", to_string(lacking.front()), name));
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
  check_slices(graph);
  if (stage < Stage::placed) return;
  check_memory(graph, order);
  check_order(graph, order);
}

}  // namespace troika
