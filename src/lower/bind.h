// Gives the tasks of some devices names, regions, keys and memory: what runs.
#pragma once

#include "lower/planned_tasks.h"

namespace troika {

/// Rows that the table lacks; the graph is complete if there are none.
struct Bound {
  TaskGraph graph;
  std::vector<KernelRequest> missing;
};

/// Tasks in the order of a step: those that lag behind the others, by turn. Communications have
/// neither algorithm nor time yet.
Bound bind(const ProgramPlan& plan, const PlannedTasks& tasks, const KernelTable& table);

}  // namespace troika
