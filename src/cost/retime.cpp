#include "cost/retime.h"

namespace troika {

TaskGraph retime(TaskGraph graph, const Machine& machine) {
  for (Task& task : graph.tasks) {
    if (!task.computes()) continue;
    task.choice.time = roofline_time(machine[task.device], flops_of(task.key), bytes_of(task.key));
  }
  return graph;
}

}  // namespace troika
