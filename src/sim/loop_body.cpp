#include "sim/loop_body.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "base/error.h"

namespace troika {
namespace {

/// The executor's figures: how long it moves messages between two kernels, and about how long a
/// chunk of 256 KiB takes it.
constexpr LoopCosts kExecutor{.between_kernels = {100'000}, .work_chunk = {25'000}};

/// A message is one phase: work of its members, or time that passes from the last start on.
/// Contention on links is not modelled yet. Equally urgent messages are served as they come.
MessagePhase phase_of(SimTime time, bool by_devices) {
  return by_devices ? MessagePhase{.work = time} : MessagePhase{.latency = time};
}

void add_message(LoopBody& body, std::uint64_t urgency, const MessagePhase& phase) {
  body.messages.push_back({.first_phase = static_cast<std::int32_t>(body.phases.size()),
                           .phases = 1,
                           .urgency = urgency});
  body.phases.push_back(phase);
}

void count_ends(LoopBody& body) {
  for (const LoopTask& task : body.tasks) {
    if (task.kind == TaskKind::compute) continue;
    LoopMessage& message = body.messages[as_index(task.message)];
    ++(task.kind == TaskKind::start ? message.starts : message.finishes);
  }
}

}  // namespace

int largest_lag(const LoopBody& body) {
  int largest = 0;
  for (const LoopTask& task : body.tasks) largest = std::max(largest, task.lag);
  return largest;
}

LoopBody loop_body(const TaskGraph& graph) {
  TROIKA_CHECK(graph.devices.empty(), "messages of devices that are not simulated");
  LoopBody made{.order = loop_order(graph),
                .dependencies = graph.dependencies,
                .lanes = graph.arena.size(),
                .costs = kExecutor};
  for (const Communication& communication : graph.communications)
    add_message(made, communication.urgency,
                phase_of(communication.time, communication.by_devices));
  for (const Task& task : graph.tasks)
    made.tasks.push_back({task.device.value, task.communication.value,
                          task.computes() ? task.choice.time : SimTime{}, task.lag, task.kind});
  count_ends(made);
  return made;
}

LoopBody loop_body(const FoldedGraph& graph) {
  LoopBody made{.lanes = graph.tasks.size(), .costs = kExecutor};
  std::map<FoldedCall, std::int32_t> messages;
  std::vector<const FoldedTask*> listed;
  for (std::size_t lane = 0; lane < graph.tasks.size(); ++lane) {
    for (const FoldedTask& task : graph.tasks[lane]) {
      LoopTask added{.lane = static_cast<std::int32_t>(lane), .lag = task.lag, .kind = task.kind};
      if (task.kind == TaskKind::compute) {
        added.time = task.time;
      } else {
        auto [known, is_new] = messages.try_emplace(task.call, std::ssize(made.messages));
        if (is_new) add_message(made, 0, {});
        added.message = known->second;
        if (task.kind == TaskKind::finish) {
          made.messages[as_index(added.message)].urgency = task.urgency;
          made.phases[as_index(made.messages[as_index(added.message)].first_phase)] =
              phase_of(task.time, task.by_devices);
        }
      }
      made.tasks.push_back(added);
      listed.push_back(&task);
    }
  }
  count_ends(made);
  made.order.resize(listed.size());
  std::iota(made.order.begin(), made.order.end(), std::size_t{0});
  std::ranges::sort(made.order, {}, [&](std::size_t at) { return listed[at]->order(); });
  return made;
}

}  // namespace troika
