// A task graph in virtual time, in whole nanoseconds, so that equal inputs give equal timelines on
// any machine.
#pragma once

#include "taskgraph/folded_graph.h"
#include "taskgraph/timeline.h"

namespace troika {

/// A loop that repeats itself, as the simulator sees it.
struct SteadyLoop {
  /// One pass of the loop: every task once. A task that lags belongs to an earlier step, which runs
  /// beside this one.
  Timeline pass;
  /// From a task to the same task of the next step: the time of a step. Averaged where the loop
  /// repeats only every few steps.
  SimTime period{};
  /// The state of the loop repeats. Otherwise the period is the mean of the last 32 of 64 passes.
  bool repeats = true;
};

// A task graph must be one of all devices.

/// Each device runs its tasks in the order of the loop, each as soon as what it depends on has
/// ended; a task lasts as long as its kernel choice says. One step from rest: its tasks that lag
/// run behind the others, in as many further passes as the largest lag.
Timeline simulate(const TaskGraph& graph);
/// The same of a folded graph. Spans are those of the first device of each class, class by class.
Timeline simulate(const FoldedGraph& graph);

/// Pass after pass until the state of the loop is that of one of the last 8 passes, relative to the
/// clock; a task takes part from the pass on whose number is its lag. A device that waits for
/// nobody runs ahead of the others, and the period is that of the slowest.
SteadyLoop simulate_loop(const TaskGraph& graph);

/// The same of a folded graph, with the same times: devices of a class do everything at the same
/// time. Spans are those of the first device of each class, class by class.
SteadyLoop simulate_loop(const FoldedGraph& graph);

}  // namespace troika
