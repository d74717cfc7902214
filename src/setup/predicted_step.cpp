#include "setup/predicted_step.h"

#include "cost/predict_time.h"
#include "profile/rates.h"
#include "sim/busy_neighbours.h"

namespace troika {
namespace {

/// Programs with measured kernels already contain their times.
TaskGraph with_times(const LiveModel& live, const std::string& name) {
  const RuntimeSetup& setup = live.setup();
  TaskGraph program = live.whole_program(name);
  if (setup.is_measured) return program;
  return retime(program, with_rates(setup.machine, [&](const DeviceSpec& device) {
                  return measure_rates(device, setup.device(), *setup.backend);
                }));
}

/// Only the first rank knows how kernels were timed. On the others they are taken as they are.
TimedBeside timed_beside(const RuntimeSetup& setup) {
  if (setup.costs == nullptr) return {};
  return {setup.costs->occupancy(), setup.costs->memory_rates(), setup.computers};
}

}  // namespace

PredictedStep predict_step(const LiveModel& live, const std::vector<std::string>& programs) {
  PredictedStep step{.program = with_times(live, programs.front())};
  // A single program repeats, and tasks carried over overlap with the next step, so the step is the
  // period of the loop. Programs that take turns wait for carried tasks at each change, so their
  // lengths add up.
  if (programs.size() == 1) {
    SteadyLoop loop = simulate_beside(step.program, timed_beside(live.setup()));
    step.time = loop.period;
    step.timeline = std::move(loop.pass);
    return step;
  }
  step.timeline = simulate(step.program);
  step.time = step.timeline.length() + step.program.runtime.longest_rest();
  for (std::size_t at = 1; at < programs.size(); ++at) {
    TaskGraph program = with_times(live, programs[at]);
    step.time += simulate(program).length() + program.runtime.longest_rest();
  }
  return step;
}

PredictedStep predict_step(const LiveModel& live, const zoo::Model& model) {
  std::vector<std::string> programs;
  for (const zoo::NamedGraph& named : model.graphs) programs.push_back(named.name);
  return predict_step(live, programs);
}

}  // namespace troika
