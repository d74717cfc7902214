#include "cli/simulated_plan.h"

#include <fmt/format.h>

#include "base/error.h"
#include "setup/choose_strategy.h"
#include "taskgraph/live_memory.h"

namespace troika::cli {

SimTime SimulatedPlan::step() const {
  SimTime sum;
  for (const PredictedProgram& program : programs) sum += program.time;
  return sum;
}

WorkDepth SimulatedPlan::bounds() const {
  WorkDepth sum;
  for (const PredictedProgram& program : programs) {
    sum.work += program.bounds.work;
    sum.depth += program.bounds.depth;
  }
  return sum;
}

SimulatedPlan simulate_plan(SimulationTarget target, const PlanSimulationOptions& asked) {
  SimulatedPlan made{.target = std::move(target)};
  Machine& machine = made.target.on.machine;
  PlanKernels kernels(
      {.given = made.target.costs,
       .measures = asked.measures,
       .is_here = made.target.is_here,
       .kernels = made.target.programs.config.kernels,
       .step = step_bytes(made.target.programs.model, std::ssize(machine.devices))});
  kernels.meet(machine);
  auto answer = [&](const std::vector<KernelRequest>& rows) { return kernels.answer(rows); };
  PlanPredictionOptions options{.is_alone = made.target.programs.model.graphs.size() == 1,
                                .also = asked.also,
                                .timed = [&] { return kernels.timed(machine); }};
  KernelTable table;
  if (asked.orders_messages) {
    made.ordered =
        order_messages_of(made.target.programs, {machine, made.target.on.links, answer, table});
    made.target.programs.strategy.sync = made.ordered->sync;
  }
  for_each_program(made.target.programs, machine, [&](const LowerRequest& request) {
    LowerRequest own = request;
    own.links = &made.target.on.links;
    made.programs.push_back(predict_program(own, answer, table, options));
  });
  kernels.finish();
  made.kernels = kernels.sources();
  made.rows = std::move(table);
  return made;
}

std::string plan_text(const SimulatedPlan& plan) {
  const PlannedPrograms& programs = plan.target.programs;
  const Machine& machine = plan.target.on.machine;
  return to_json(with_origin(programs.strategy, programs.config, programs.model, machine));
}

std::string trace_of(const SimulatedPlan& plan) {
  const PredictedProgram& program = plan.programs.front();
  Timeline timeline;
  std::vector<TraceCounter> memory;
  for (const PassRow& row : program.pass.rows) {
    for (const RanTask& ran : row.tasks)
      timeline.spans.push_back({program.graph.tasks[ran.task].id, row.device, ran.start, ran.end});
    if (program.pass.is_one_step) continue;  // the memory of tasks that lag is that of a loop
    for (const MemoryMoment& moment : live_memory(program.graph, row)) {
      TraceCounter counter{.name = "memory of device " + std::to_string(row.device.value),
                           .time = moment.time};
      for (const auto& [category, bytes] : moment.bytes)
        counter.values[std::string(to_string(category))] = bytes.count;
      memory.push_back(std::move(counter));
    }
  }
  return to_chrome_trace(program.graph, {{"predicted", timeline, std::move(memory)}});
}

}  // namespace troika::cli
