#include "sim/loop_body.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "sim/folded_loop.h"

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

void add_phase(LoopBody& body, LoopMessage& message, const MessagePhase& phase) {
  message.first_phase = static_cast<std::int32_t>(body.phases.size());
  message.phases = 1;
  body.phases.push_back(phase);
}

}  // namespace

int largest_lag(const LoopBody& body) {
  int largest = 0;
  for (const LoopLane& lane : body.lanes)
    for (std::int32_t task : lane.tasks)
      largest = std::max(largest, body.tasks[as_index(task)].lag);
  return largest;
}

std::int32_t add_task(LoopBody& body, LoopTask task) {
  auto number = static_cast<std::int32_t>(body.tasks.size());
  if (task.kind != TaskKind::compute) {
    LoopMessage& message = body.messages[as_index(task.message)];
    ++(task.kind == TaskKind::start ? message.starts : message.finishes);
    task.next_end = std::exchange(message.first_end, number);
  }
  body.lanes[as_index(task.lane)].work += task.time;
  body.tasks.push_back(task);
  body.places.push_back(-1);
  return number;
}

void place_last(LoopBody& body, std::int32_t task) {
  LoopLane& lane = body.lanes[as_index(body.tasks[as_index(task)].lane)];
  body.places[as_index(task)] = static_cast<std::int32_t>(lane.tasks.size());
  lane.tasks.push_back(task);
}

LoopBody loop_body(const TaskGraph& graph) {
  TROIKA_CHECK(graph.devices.empty(), "messages of devices that are not simulated");
  LoopBody made{.lanes = std::vector<LoopLane>(graph.arena.size()),
                .dependencies = graph.dependencies,
                .costs = kExecutor};
  for (const Communication& communication : graph.communications) {
    made.messages.push_back({.urgency = communication.urgency});
    add_phase(made, made.messages.back(), phase_of(communication.time, communication.by_devices));
  }
  for (const Task& task : graph.tasks)
    add_task(made, {.lane = task.device.value,
                    .message = task.communication.value,
                    .time = task.computes() ? task.choice.time : SimTime{},
                    .lag = task.lag,
                    .kind = task.kind});
  for (std::size_t at : loop_order(graph)) place_last(made, static_cast<std::int32_t>(at));
  return made;
}

LoopBody empty_loop_body(const FoldedGraph& graph) {
  return {.lanes = std::vector<LoopLane>(graph.tasks.size()), .costs = kExecutor};
}

void add_folded_task(LoopBody& body, std::int32_t lane, const FoldedTask& task,
                     std::int32_t message) {
  LoopTask added{.lane = lane, .message = message, .lag = task.lag, .kind = task.kind};
  if (task.kind == TaskKind::compute) added.time = task.time;
  place_last(body, add_task(body, added));
  if (task.kind != TaskKind::finish) return;
  LoopMessage& own = body.messages[as_index(message)];
  if (own.phases > 0) return;
  own.urgency = task.urgency;
  add_phase(body, own, phase_of(task.time, task.by_devices));
}

LoopBody loop_body(const FoldedGraph& graph) { return FoldedLoop::body_of(graph); }

}  // namespace troika
