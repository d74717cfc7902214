#include "sim/delta_simulation.h"

#include "sim/pass_timeline.h"

namespace troika {

LoopPeriod DeltaSimulation::simulate(const FoldedGraph& graph) {
  return run_.run(loop_.change_to(graph));
}

void DeltaSimulation::undo() {
  loop_.undo();
  run_.undo();
}

SteadyLoop DeltaSimulation::loop() const {
  std::vector<std::int32_t> first{0};  // span, by lane
  for (const LoopLane& lane : loop_.body().lanes)
    first.push_back(first.back() + static_cast<std::int32_t>(lane.tasks.size()));
  std::vector<TaskRun> ran = run_.last_pass();
  for (TaskRun& each : ran) {
    std::int32_t lane = loop_.body().tasks[as_index(each.task)].lane;
    each.task = first[as_index(lane)] + loop_.body().places[as_index(each.task)];
  }
  return {fill_timeline(empty_timeline(loop_.graph()), ran), period().time, period().repeats};
}

}  // namespace troika
