// Task graphs for tests of loops, written as sums and messages over named buffers.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "base/error.h"
#include "taskgraph/verify.h"

namespace troika {

/// A graph of sums and messages over buffers, which are known by name and device.
struct Loop {
  inline static const TensorSpec value{{8}, DType::f32};
  TaskGraph graph{.name = "loop", .arena = {Bytes{}, Bytes{}}};

  BufferId buffer(const std::string& name, std::size_t device = 0, bool persistent = false) {
    auto is_it = [&](const BufferSpec& buffer) {
      return buffer.name == name && buffer.device == DeviceId(device);
    };
    auto found = std::ranges::find_if(graph.buffers, is_it);
    if (found != graph.buffers.end())
      return BufferId(static_cast<std::size_t>(found - graph.buffers.begin()));
    Bytes offset = graph.arena[device];
    if (!persistent) graph.arena[device] += Bytes{64};
    graph.buffers.push_back({.name = name,
                             .spec = value,
                             .device = DeviceId(device),
                             .persistent = persistent,
                             .offset = offset});
    return BufferId(graph.buffers.size() - 1);
  }

  Task& add(Task task) {
    task.id = {0, static_cast<std::int32_t>(graph.tasks.size())};
    graph.tasks.push_back(std::move(task));
    return graph.tasks.back();
  }

  /// Adds the task `to` = sum of `from`, with that lag.
  Task& sum(const std::string& to, const std::vector<std::string>& from, int lag,
            std::size_t device = 0) {
    Task task{.name = to, .device = DeviceId(device), .lag = lag};
    task.key = {Sum{.count = static_cast<std::int64_t>(from.size())},
                std::vector(from.size(), value),
                Phase::forward,
                {}};
    for (const std::string& name : from) task.uses.push_back({buffer(name, device), Access::read});
    task.uses.push_back({buffer(to, device), Access::write});
    task.choice = {"fake", std::vector<Layout>(task.uses.size()), {}, {1000}};
    return add(std::move(task));
  }

  /// Adds the start or the finish of a member: "name start 0", "name finish 0". The first member
  /// sends the buffer of that name to the second one.
  void half(const std::string& name, TaskKind kind, std::size_t member, int lag) {
    auto found = std::ranges::find(graph.communications, name, &Communication::name);
    if (found == graph.communications.end()) {
      Communication sent{.name = name, .call = equal_parts(Collective::broadcast, 2, 8)};
      for (std::size_t device : {0u, 1u}) {
        sent.devices.emplace_back(device);
        sent.buffers.push_back(buffer(name, device));
      }
      found = graph.communications.insert(graph.communications.end(), sent);
    }
    bool starts = kind == TaskKind::start;
    Access access = member == 0 ? Access::read : starts ? Access::write : Access::update;
    add({.name = name + (starts ? " start " : " finish ") + std::to_string(member),
         .device = DeviceId(member),
         .uses = {{found->buffers[member], access}},
         .kind = kind,
         .communication =
             CommunicationId(static_cast<std::size_t>(found - graph.communications.begin())),
         .member = static_cast<int>(member),
         .lag = lag});
  }

  Task& operator[](const std::string& name) {
    return *std::ranges::find(graph.tasks, name, &Task::name);
  }
  void input(const std::string& name) { graph.inputs[name] = buffer(name); }
  void output(const std::string& name) {
    graph[buffer(name)].held = true;
    graph.outputs[name] = buffer(name);
  }

  std::vector<std::string> order() const {
    std::vector<std::string> names;
    for (std::size_t at : loop_order(graph)) names.push_back(graph.tasks[at].name);
    return names;
  }

  /// What the verifier says, of a graph with the dependencies of its memory.
  std::string refusal(Stage stage = Stage::placed) {
    graph.dependencies = find_dependencies(graph);
    try {
      verify(graph, stage);
    } catch (const Bug& bug) {
      return bug.what();
    }
    return "";
  }
};

/// x -> a -> b -> c -> d, each one pass later.
inline Loop chain() {
  Loop loop;
  loop.input("x");
  loop.sum("a", {"x", "x"}, 0);
  loop.sum("b", {"a", "a"}, 1);
  loop.sum("c", {"b", "b"}, 2);
  loop.sum("d", {"c", "c"}, 3);
  return loop;
}

/// Device 0 computes y and sends it; device 1 goes on with it one pass later.
inline Loop pipeline() {
  Loop loop;
  loop.input("x");
  loop.sum("y", {"x", "x"}, 0);
  loop.half("y", TaskKind::start, 0, 0);
  loop.half("y", TaskKind::start, 1, 1);
  loop.half("y", TaskKind::finish, 0, 1);
  loop.half("y", TaskKind::finish, 1, 1);
  loop.sum("z", {"y", "y"}, 1, 1);
  loop.sum("last", {"z", "z"}, 1, 1);
  return loop;
}

}  // namespace troika
