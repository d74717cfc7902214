// For tests: messages of a lowered graph, and where their tasks stand.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "lower/testing/lowered.h"
#include "strategy/ready.h"

namespace troika {

inline std::vector<Communication> communications_of(const TaskGraph& graph, Collective kind,
                                                    Category category) {
  std::vector<Communication> found;
  for (const Communication& communication : graph.communications)
    if (communication.call.kind == kind && graph[communication.buffers[0]].category == category)
      found.push_back(communication);
  return found;
}

/// Where the task of this kind of the communication's member stands.
inline std::size_t place_of(const TaskGraph& graph, const Communication& communication,
                            TaskKind kind, int member) {
  auto id = CommunicationId(static_cast<std::size_t>(
      std::ranges::find(graph.communications, communication) - graph.communications.begin()));
  auto found = std::ranges::find_if(graph.tasks, [&](const Task& task) {
    return task.kind == kind && task.communication == id && task.member == member;
  });
  return static_cast<std::size_t>(found - graph.tasks.begin());
}

/// The tasks of one device, in order.
inline std::vector<std::size_t> tasks_on(const TaskGraph& tasks, DeviceId device) {
  std::vector<std::size_t> places;
  for (std::size_t at = 0; at < tasks.tasks.size(); ++at)
    if (tasks.tasks[at].device == device) places.push_back(at);
  return places;
}

/// The next task of the same device that computes, from `at` on in the direction `step`.
inline std::optional<std::size_t> next_computing(const TaskGraph& tasks, std::size_t at, int step) {
  std::vector<std::size_t> own = tasks_on(tasks, tasks.tasks[at].device);
  auto place = std::ranges::find(own, at) - own.begin();
  for (place += step; place >= 0 && place < std::ssize(own); place += step) {
    auto next = own[static_cast<std::size_t>(place)];
    if (tasks.tasks[next].computes()) return next;
  }
  return {};
}

struct OneMessagePerGradient : OnDevices {
  OneMessagePerGradient() : OnDevices(2, data_parallel) { strategy.sync.bucket = {1}; }
};

inline constexpr const char* kColumns = R"(graph columns
input x f32[8,3,4,8]
input target i32[8]
input weight f32[8]
parameter conv.weight f32[3,3,3,3] uniform 0.5
parameter fc.weight f32[3,3] uniform 0.5
operator conv conv2d{out=3,kernel=[3,3],pad=[1,1],pad_end=[1,1]} (x) [conv.weight] -> conv
operator relu activation{} (conv) [] -> relu
operator pool global_pool{} (relu) [] -> pool
operator fc linear{out=3} (pool) [fc.weight] -> logits
operator loss cross_entropy{} (logits target weight) [] -> loss_sum weight_sum
output logits logits
loss loss_sum weight_sum
)";

/// Samples on all devices, columns of all samples in between.
struct ColumnsBetweenSamples : Lowered {
  ColumnsBetweenSamples() {
    graph = parse_graph(kColumns);
    machine.devices.resize(8);
    strategy = data_parallel(graph, machine);
    strategy.splits.at("relu").factors = {{"v", 8}};
    optimizer = {.rules = {{"conv.weight", Sgd{}}, {"fc.weight", Sgd{}}}};
  }
};

}  // namespace troika
