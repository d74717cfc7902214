#include "sim/loop_body.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "base/error.h"

namespace troika {

LoopBody loop_body(const TaskGraph& graph) {
  TROIKA_CHECK(graph.devices.empty(), "messages of devices that are not simulated");
  LoopBody made{.order = loop_order(graph),
                .dependencies = graph.dependencies,
                .lanes = graph.arena.size(),
                .messages = graph.communications.size()};
  for (const Task& task : graph.tasks) {
    SimTime time = task.choice.time;
    if (task.kind == TaskKind::finish) time = graph[task.communication].time;
    made.tasks.push_back({task.device.value, task.communication.value, time, task.lag, task.kind});
  }
  return made;
}

LoopBody loop_body(const FoldedGraph& graph) {
  LoopBody made{.lanes = graph.tasks.size()};
  std::map<FoldedCall, std::int32_t> messages;
  std::vector<const FoldedTask*> listed;
  for (std::size_t lane = 0; lane < graph.tasks.size(); ++lane) {
    for (const FoldedTask& task : graph.tasks[lane]) {
      std::int32_t message = -1;
      if (task.kind != TaskKind::compute)
        message = messages.try_emplace(task.call, std::ssize(messages)).first->second;
      made.tasks.push_back(
          {static_cast<std::int32_t>(lane), message, task.time, task.lag, task.kind});
      listed.push_back(&task);
    }
  }
  made.messages = messages.size();
  made.order.resize(listed.size());
  std::iota(made.order.begin(), made.order.end(), std::size_t{0});
  std::ranges::sort(made.order, {}, [&](std::size_t at) { return listed[at]->order(); });
  return made;
}

}  // namespace troika
