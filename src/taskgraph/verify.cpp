#include "taskgraph/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "base/error.h"

namespace troika {
namespace {

void check_operands(const TaskGraph& graph, const Task& task) {
  std::vector<Operand> operands = operands_of(task.key);
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

/// Views by what they are views of in the end, and where each begins there.
struct Sharing {
  explicit Sharing(const TaskGraph& of) : graph(of), sharers(of.buffers.size()) {
    for (std::size_t at = 0; at < graph.buffers.size(); ++at) {
      BufferId id(at);
      sharers[graph.root(id).index()].push_back(id);
      begins.push_back(graph.offset_in_root(id));
    }
  }
  bool overlap(BufferId a, BufferId b) const {
    return begins[a.index()] < begins[b.index()] + graph[b].bytes() &&
           begins[b.index()] < begins[a.index()] + graph[a].bytes();
  }

  const TaskGraph& graph;
  std::vector<std::vector<BufferId>> sharers;  // by root
  std::vector<Bytes> begins;
};

/// Writing in place destroys every other buffer in that memory.
void forget_memory(const Sharing& sharing, BufferId id, std::vector<bool>& written) {
  for (BufferId other : sharing.sharers[sharing.graph.root(id).index()])
    if (sharing.overlap(id, other)) written[other.index()] = false;
}

void check_writes(const TaskGraph& graph) {
  std::vector<bool> written(graph.buffers.size());
  Sharing sharing(graph);
  for (const auto& [name, buffer] : graph.inputs) written[buffer.index()] = true;
  auto known = [&](BufferId id) {
    for (; id.valid(); id = graph[id].view_of) {
      if (written[id.index()] || graph[id].persistent) return true;
    }
    return false;
  };
  for (const Task& task : graph.tasks) {
    for (const BufferUse& use : task.uses) {
      if (use.access != Access::write && task.computes())
        TROIKA_CHECK(known(use.buffer), fmt::format("task '{}' reads '{}' before it is written",
                                                    task.name, graph[use.buffer].name));
    }
    for (const BufferUse& use : task.uses) {
      if (use.access == Access::write)
        TROIKA_CHECK(!written[use.buffer.index()],
                     fmt::format("task '{}' writes '{}' again", task.name, graph[use.buffer].name));
      // What a member brings into a gathering is there before.
      if (use.access == Access::write && task.computes())
        forget_memory(sharing, use.buffer, written);
      if (use.access != Access::read) written[use.buffer.index()] = true;
    }
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

void check_memory(const TaskGraph& graph) {
  std::vector<Lifetime> lifetimes = find_lifetimes(graph);
  std::vector<std::size_t> placed;
  for (std::size_t at = 0; at < graph.buffers.size(); ++at) {
    const BufferSpec& buffer = graph.buffers[at];
    if (buffer.view_of.valid())
      TROIKA_CHECK(graph.offset_in_root(BufferId(at)) + buffer.bytes() <=
                       graph[graph.root(BufferId(at))].bytes(),
                   fmt::format("'{}' is larger than what it is a view of", buffer.name));
    if (buffer.view_of.valid() || buffer.persistent || !lifetimes[at].used) continue;
    TROIKA_CHECK(buffer.offset + buffer.bytes() <= graph.arena[buffer.device.index()],
                 fmt::format("'{}' leaves the arena", buffer.name));
    placed.push_back(at);
  }
  std::ranges::sort(placed, {}, [&](std::size_t at) { return lifetimes[at].first; });
  for (std::size_t i = 0; i < placed.size(); ++i) {
    const BufferSpec& a = graph.buffers[placed[i]];
    for (std::size_t j = i + 1;
         j < placed.size() && lifetimes[placed[j]].first <= lifetimes[placed[i]].last; ++j) {
      const BufferSpec& b = graph.buffers[placed[j]];
      bool apart = a.device != b.device || a.offset + a.bytes() <= b.offset ||
                   b.offset + b.bytes() <= a.offset;
      TROIKA_CHECK(apart, fmt::format("'{}' and '{}' live at the same time in the same memory",
                                      a.name, b.name));
    }
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

/// Where the tasks of one member of a communication stand.
struct MemberTasks {
  std::optional<std::size_t> start, finish;
};

void note_member(const TaskGraph& graph, std::size_t at,
                 std::vector<std::vector<MemberTasks>>& members) {
  const Task& task = graph.tasks[at];
  const Communication& communication = graph[task.communication];
  auto member = static_cast<std::size_t>(task.member);
  MemberTasks& tasks = members[task.communication.index()][member];
  std::optional<std::size_t>& place = task.kind == TaskKind::start ? tasks.start : tasks.finish;
  TROIKA_CHECK(!place, fmt::format("'{}' is there twice", task.name));
  place = at;
  TROIKA_CHECK(task.device == communication.devices[member] && task.uses.size() == 1 &&
                   task.uses[0].buffer == communication.buffers[member] &&
                   graph[task.uses[0].buffer].device == task.device,
               fmt::format("'{}' is not its member's", task.name));
}

/// No task touches what a communication has, unless both only read it.
void check_untouched(const TaskGraph& graph, const MemberTasks& tasks) {
  const BufferUse& held = graph.tasks[*tasks.start].uses[0];
  BufferId root = graph.root(held.buffer);
  for (std::size_t at = *tasks.start + 1; at < *tasks.finish; ++at) {
    for (const BufferUse& use : graph.tasks[at].uses) {
      bool both_read = use.access == Access::read && held.access == Access::read;
      TROIKA_CHECK(both_read || graph.root(use.buffer) != root,
                   fmt::format("'{}' touches '{}' while '{}' has it", graph.tasks[at].name,
                               graph[use.buffer].name, graph.tasks[*tasks.start].name));
    }
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

void check_communications(const TaskGraph& graph) {
  std::vector<std::vector<MemberTasks>> members;
  for (const Communication& communication : graph.communications) {
    TROIKA_CHECK(communication.devices.size() == communication.buffers.size() &&
                     communication.call.members == static_cast<int>(communication.devices.size()),
                 fmt::format("'{}' has not one buffer per member", communication.name));
    members.emplace_back(communication.devices.size());
  }
  for (std::size_t at = 0; at < graph.tasks.size(); ++at)
    if (!graph.tasks[at].computes()) note_member(graph, at, members);
  for (std::size_t at = 0; at < members.size(); ++at) {
    const std::string& name = graph.communications[at].name;
    std::size_t last_start = 0, first_finish = graph.tasks.size();
    for (const MemberTasks& tasks : members[at]) {
      TROIKA_CHECK(tasks.start && tasks.finish, fmt::format("a member of '{}' is missing", name));
      last_start = std::max(last_start, *tasks.start);
      first_finish = std::min(first_finish, *tasks.finish);
    }
    // So that the devices, each going through its tasks in order, cannot wait for each other.
    TROIKA_CHECK(last_start < first_finish,
                 fmt::format("a member waits for '{}' before another one starts it", name));
    for (const MemberTasks& tasks : members[at]) check_untouched(graph, tasks);
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
  std::set<TaskId> ids;
  for (const Task& task : graph.tasks) {
    TROIKA_CHECK(ids.insert(task.id).second,
                 fmt::format("the id of task '{}' is taken", task.name));
    if (!task.computes()) continue;
    check_operands(graph, task);
    if (stage >= Stage::chosen) check_layouts(graph, task);
  }
  check_writes(graph);
  check_communications(graph);
  check_carried(graph);
  if (stage < Stage::placed) return;
  check_memory(graph);
  check_dependencies(graph);
}

}  // namespace troika
