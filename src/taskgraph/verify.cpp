#include "taskgraph/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/error.h"
#include "taskgraph/check_communications.h"
#include "taskgraph/check_writes.h"

namespace troika {
namespace {

/// With a place of its own there.
bool is_in_arena(const BufferSpec& buffer) { return !buffer.view_of.valid() && !buffer.persistent; }

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

void check_place(const TaskGraph& graph, BufferId id, const Lifetime& life) {
  const BufferSpec& buffer = graph[id];
  if (buffer.view_of.valid())
    TROIKA_CHECK(graph.offset_in_root(id) + buffer.bytes() <= graph[graph.root(id)].bytes(),
                 fmt::format("'{}' is larger than what it is a view of", buffer.name));
  if (is_in_arena(buffer) && life.used)
    TROIKA_CHECK(buffer.offset + buffer.bytes() <= graph.arena[buffer.device.index()],
                 fmt::format("'{}' leaves the arena", buffer.name));
}

/// `placed`: buffers of one device, by the first task that touches them.
void check_apart(const TaskGraph& graph, const std::vector<std::size_t>& placed,
                 const std::vector<Lifetime>& lifetimes) {
  for (std::size_t i = 0; i < placed.size(); ++i) {
    const BufferSpec& a = graph.buffers[placed[i]];
    for (std::size_t j = i + 1;
         j < placed.size() && lifetimes[placed[j]].first <= lifetimes[placed[i]].last; ++j) {
      const BufferSpec& b = graph.buffers[placed[j]];
      bool apart = a.offset + a.bytes() <= b.offset || b.offset + b.bytes() <= a.offset;
      TROIKA_CHECK(apart, fmt::format("'{}' and '{}' live at the same time in the same memory",
                                      a.name, b.name));
    }
  }
}

void check_memory(const TaskGraph& graph) {
  std::vector<Lifetime> lifetimes = find_lifetimes(graph);
  std::vector<std::vector<std::size_t>> placed(graph.arena.size());  // by device
  for (std::size_t at = 0; at < graph.buffers.size(); ++at) {
    const BufferSpec& buffer = graph.buffers[at];
    check_place(graph, BufferId(at), lifetimes[at]);
    if (is_in_arena(buffer) && lifetimes[at].used) placed[buffer.device.index()].push_back(at);
  }
  for (std::vector<std::size_t>& own : placed) {
    std::ranges::sort(own, {}, [&](std::size_t at) { return lifetimes[at].first; });
    check_apart(graph, own, lifetimes);
  }
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
    stored.regions.push_back(buffer.region);
  }
  for (const auto& [name, stored] : slices) {
    std::vector<Region> lacking = subtract(Region::whole(stored.whole), stored.regions);
    TROIKA_CHECK(lacking.empty(),
                 fmt::format("nobody stores {} of '{}'", to_string(lacking.front()), name));
  }
}

void check_dependencies(const TaskGraph& graph) {
  for (const Dependency& edge : graph.dependencies)
    TROIKA_CHECK(edge.distance > 0 || edge.from < edge.to,
                 "a dependency points backwards within a step");
  for (const Dependency& needed : find_dependencies(graph)) {
    const Task &from = graph.tasks[needed.from], &to = graph.tasks[needed.to];
    // Tasks of one device run in listed order; only what crosses devices needs an edge of its own.
    bool ordered =
        from.device == to.device || std::ranges::binary_search(graph.dependencies, needed);
    TROIKA_CHECK(ordered, fmt::format("nothing orders '{}' before '{}'", from.name, to.name));
  }
}

/// A carried task runs after all others of its step.
void check_carried(const TaskGraph& graph) {
  std::vector<bool> read(graph.buffers.size()), written(graph.buffers.size());  // by root
  for (const Task& task : graph.tasks) {
    for (const BufferUse& use : task.uses) {
      std::size_t root = graph.root(use.buffer).index();
      bool writes = use.access != Access::read;
      if (task.carried) {
        (writes ? written : read)[root] = true;
      } else {
        TROIKA_CHECK(!written[root] && !(writes && read[root]),
                     fmt::format("'{}' needs '{}' as an earlier task leaves it that is carried "
                                 "into the next step",
                                 task.name, graph[use.buffer].name));
      }
    }
  }
}

}  // namespace

std::vector<Lifetime> find_lifetimes(const TaskGraph& graph) {
  std::vector<Lifetime> lifetimes(graph.buffers.size());
  auto touch = [&](BufferId id, std::size_t task) {
    Lifetime& life = lifetimes[graph.root(id).index()];
    life.first = life.used ? std::min(life.first, task) : task;
    life.last = life.used ? std::max(life.last, task) : task;
    life.used = true;
  };
  for (std::size_t at = 0; at < graph.tasks.size(); ++at) {
    for (const BufferUse& use : graph.tasks[at].uses) touch(use.buffer, at);
    if (graph.tasks[at].scratch.valid()) touch(graph.tasks[at].scratch, at);
  }
  for (const auto& [name, buffer] : graph.inputs) touch(buffer, 0);
  std::vector<bool> carried = find_carried_memory(graph);
  for (std::size_t at = 0; at < carried.size(); ++at) {
    if (!carried[at]) continue;
    touch(BufferId(at), 0);
    touch(BufferId(at), graph.tasks.size() - 1);
  }
  for (std::size_t at = 0; at < graph.buffers.size(); ++at) {
    if (graph.buffers[at].held)
      touch(BufferId(at), graph.tasks.empty() ? 0 : graph.tasks.size() - 1);
  }
  return lifetimes;
}

void verify(const TaskGraph& graph, Stage stage) {
  check_ids(graph);
  const Task* before = nullptr;
  std::vector<Operand> operands;
  for (const Task& task : graph.tasks) {
    if (!task.computes()) continue;
    // Tiles of one operator stand next to each other, with equal keys.
    if (before == nullptr || before->key != task.key) operands = operands_of(task.key);
    before = &task;
    check_operands(graph, task, operands);
    if (stage >= Stage::chosen) check_layouts(graph, task);
  }
  check_writes(graph);
  check_communications(graph);
  check_names(graph);
  check_slices(graph);
  check_carried(graph);
  if (stage < Stage::placed) return;
  check_memory(graph);
  check_dependencies(graph);
}

}  // namespace troika
