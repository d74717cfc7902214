// A loop as the simulator sees it: lanes with their tasks in the order of a pass, the messages
// between lanes, and the links that these occupy. Plain values, of all devices or of classes.
#pragma once

#include <cstdint>
#include <vector>

#include "taskgraph/folded_graph.h"

namespace troika {

struct LoopTask {
  std::int32_t lane = 0;  ///< A device, or a class of devices; runs its tasks one after the other.
  std::int32_t message = -1;  ///< Of a start or finish.
  SimTime time{};             ///< With what the runtime takes; of a start or finish only that.
  std::int32_t lag = 0;
  TaskKind kind = TaskKind::compute;
  std::int32_t next_end = -1;  ///< Another task of the same message; -1: none.
};

struct LoopMessage {
  std::int32_t first_phase = 0, phases = 0;  ///< In LoopBody::phases.
  std::int32_t starts = 0;                   ///< Start tasks of a step.
  std::int32_t finishes = 0;
  std::int32_t first_end =
      -1;  ///< A task of it, from which LoopTask::next_end leads to all others.
  std::uint64_t urgency = 0;
  /// Among equally urgent messages the least goes first. Equal for messages that differ in their
  /// devices only.
  std::uint64_t order = 0;
};

/// How devices move messages.
struct LoopCosts {
  /// How long a device moves messages between two kernels, as the executor does.
  SimTime between_kernels{};
  SimTime work_chunk{};       ///< Length of a piece of that work, after which a more urgent message
                              ///< overtakes.
  bool moves_beside = false;  ///< A thread does so instead, at any time.
};

struct LoopLane {
  std::vector<std::int32_t> tasks{};  ///< In the order of a pass.
  SimTime work{};                     ///< The sum over its tasks.
  std::int32_t process = -1;          ///< In LoopBody::processes; -1: none.
};

/// Starts of a message come before its finishes; a lane that starts a message also finishes it.
struct LoopBody {
  std::vector<LoopTask> tasks{};       ///< May contain some that no lane has any more.
  std::vector<std::int32_t> places{};  ///< By task: where it stands in the list of its lane.
  std::vector<LoopLane> lanes{};
  std::vector<Dependency> dependencies{};
  std::vector<LoopMessage> messages{};
  std::vector<MessagePhase> phases{};
  std::vector<LinkLoad> loads{};      ///< On links by their places in this list:
  std::vector<DirectedLink> links{};  ///< Ascending.
  std::vector<LoopProcess> processes{};
  LoopCosts costs{};
};

/// Returns the largest lag of any task.
int largest_lag(const LoopBody& body);

/// Adds a task, whose message, if any, must be there. It has no place yet. Returns its number.
std::int32_t add_task(LoopBody& body, LoopTask task);
/// Places a task behind all others of its lane.
void place_last(LoopBody& body, std::int32_t task);

/// Returns the loop of a graph of all devices. Lanes are devices, tasks are numbered as in the
/// graph.
LoopBody loop_body(const TaskGraph& graph);

/// Lanes are classes; tasks are numbered class by class. What tasks of a device wait for, besides
/// messages, stands before them, so there are no dependencies.
LoopBody loop_body(const FoldedGraph& graph);

/// No period of the loop is shorter: the kernels of the busiest class. Much quicker than
/// simulating.
SimTime least_period(const FoldedGraph& graph);

/// Returns the lanes, links, processes and costs of a folded graph, without tasks. These are added
/// by add_folded_task.
LoopBody empty_loop_body(const FoldedGraph& graph);
struct FoldedPlace {
  std::int32_t lane = 0;
  std::int32_t message = -1;  ///< Of a start or finish; its first finish adds its phases.
  const RuntimeCosts& runtime;
};
/// Adds a task at the end of its lane.
void add_folded_task(LoopBody& body, const FoldedPlace& place, const FoldedTask& task);

}  // namespace troika
