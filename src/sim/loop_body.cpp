#include "sim/loop_body.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "sim/folded_loop.h"

namespace troika {
namespace {

/// The executor's figures: how long it moves messages between two kernels, and about how long a
/// chunk of 256 KiB takes it.
LoopCosts executor_costs(const RuntimeCosts& runtime) {
  return {
      .between_kernels = {100'000}, .work_chunk = {25'000}, .moves_beside = runtime.moves_beside};
}

/// Appends what a message occupies. Without phases it is nothing but time that passes from the last
/// start on.
void add_phases(LoopBody& body, LoopMessage& message, const MessagePhases* phases, SimTime time) {
  message.first_phase = static_cast<std::int32_t>(body.phases.size());
  if (phases == nullptr) {
    body.phases.push_back({.latency = time});
  } else {
    auto first_load = static_cast<std::int32_t>(body.loads.size());
    for (MessagePhase phase : phases->phases) {
      phase.first_load += first_load;
      body.phases.push_back(phase);
    }
    for (const LinkLoad& load : phases->loads) {
      auto link = std::ranges::lower_bound(body.links, load.link, {}, &DirectedLink::number);
      TROIKA_CHECK(link != body.links.end() && link->number == load.link, "an unlisted link");
      body.loads.push_back({static_cast<std::int32_t>(link - body.links.begin()), load.time});
    }
  }
  message.phases = static_cast<std::int32_t>(body.phases.size()) - message.first_phase;
}

/// Says of each lane in which process it is.
void set_processes(LoopBody& body, const std::vector<LoopProcess>& processes) {
  body.processes = processes;
  for (std::size_t process = 0; process < processes.size(); ++process)
    for (std::int32_t lane : processes[process].lanes)
      body.lanes[as_index(lane)].process = static_cast<std::int32_t>(process);
}

/// Equally urgent messages go in the order in which devices start them. Turns do not depend on
/// devices, so it is the same for all messages of a class.
void note_start(LoopMessage& message, Turn turn) {
  bool is_first = message.starts == 1;
  message.order = is_first ? turn.bits : std::min(message.order, turn.bits);
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
                .links = graph.links,
                .costs = executor_costs(graph.runtime)};
  set_processes(made, graph.runtime.processes);
  for (const Communication& communication : graph.communications) {
    made.messages.push_back({.urgency = communication.urgency});
    add_phases(made, made.messages.back(), communication.phases.get(), communication.time);
  }
  for (const Task& task : graph.tasks) {
    add_task(made, {.lane = task.device.value,
                    .message = task.communication.value,
                    .time = task.computes() ? task.choice.time + graph.runtime.task
                                            : graph.runtime.message_end,
                    .lag = task.lag,
                    .kind = task.kind});
    if (task.kind == TaskKind::start)
      note_start(made.messages[task.communication.index()], task.turn);
  }
  for (std::size_t at : loop_order(graph)) place_last(made, static_cast<std::int32_t>(at));
  return made;
}

LoopBody empty_loop_body(const FoldedGraph& graph) {
  LoopBody made{.lanes = std::vector<LoopLane>(graph.tasks.size()),
                .links = graph.links,
                .costs = executor_costs(graph.runtime)};
  set_processes(made, graph.runtime.processes);
  return made;
}

void add_folded_task(LoopBody& body, const FoldedPlace& place, const FoldedTask& task) {
  const auto& [lane, message, runtime] = place;
  LoopTask added{.lane = lane, .message = message, .lag = task.lag, .kind = task.kind};
  added.time = task.kind == TaskKind::compute ? task.time + runtime.task : runtime.message_end;
  place_last(body, add_task(body, added));
  if (task.kind == TaskKind::compute) return;
  LoopMessage& own = body.messages[as_index(message)];
  if (task.kind == TaskKind::start) return note_start(own, task.turn);
  if (own.phases > 0) return;
  own.urgency = task.urgency;
  add_phases(body, own, task.phases.get(), task.time);
}

LoopBody loop_body(const FoldedGraph& graph) { return FoldedLoop::body_of(graph); }

SimTime least_period(const FoldedGraph& graph) {
  SimTime most;
  for (const std::vector<FoldedTask>& tasks : graph.tasks) {
    SimTime busy;
    for (const FoldedTask& task : tasks)
      if (task.kind == TaskKind::compute) busy += task.time + graph.runtime.task;
    most = std::max(most, busy);
  }
  return most;
}

}  // namespace troika
