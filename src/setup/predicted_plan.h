// Predicts training under a plan from its folded task graph, so that the number of devices does not
// matter and none of them has to exist.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "lower/device_memory.h"
#include "lower/lower.h"
#include "search/message_order.h"
#include "setup/live_model.h"
#include "sim/busy_neighbours.h"
#include "sim/simulate.h"
#include "sim/work_depth.h"
#include "taskgraph/loop_pass.h"
#include "taskgraph/sent_bytes.h"

namespace troika {

struct PredictedProgram {
  std::string name;
  FoldedGraph folded;
  /// Tasks of the first device of each class and of those that were asked for, with kernels,
  /// algorithms, dependencies and places in memory, as lower() gives it.
  TaskGraph graph;
  LoopPass pass;        ///< Of the first device of each class.
  SimTime time{};       ///< Of a step.
  bool repeats = true;  ///< As in SteadyLoop.
  WorkDepth bounds;
  std::vector<PlannedMemory> memory;  ///< By class.
};

/// Bytes that all devices send in a step, by kind of link.
SentBytes all_sent_bytes(const PredictedProgram& program);

struct PlanPredictionOptions {
  /// The only program of a step, which follows itself. If several take turns, each step of one
  /// begins from rest, because a change of program waits for tasks that lag.
  bool is_alone = true;
  /// Devices whose tasks shall be in the graph too, in any order.
  std::vector<DeviceId> also{};
  /// How the kernels were timed, once all rows are there. Empty: as they run.
  std::function<TimedBeside()> timed{};
};

/// The folded graph alone: what is simulated. Throws as predict_program.
FoldedGraph fold_plan(const LowerRequest& request, const KernelAnswer& answer, KernelTable& table);

/// order_messages with all rows that it asks for. Throws as predict_program.
OrderedMessages order_plan(const LowerRequest& request, const KernelAnswer& answer,
                           KernelTable& table);

/// Throws Error(usage) with the reason if the strategy is infeasible. Adds rows to the table.
PredictedProgram predict_program(const LowerRequest& request, const KernelAnswer& answer,
                                 KernelTable& table, const PlanPredictionOptions& options = {});

}  // namespace troika
