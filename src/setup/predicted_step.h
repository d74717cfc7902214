// Predicts a training step with the simulator: its time and its timeline.
#pragma once

#include <string>
#include <vector>

#include "setup/live_model.h"
#include "taskgraph/timeline.h"

namespace troika {

struct PredictedStep {
  SimTime time{};  ///< From one step to the next, in steady state.
  /// The first of the step's programs, with the predicted time of every task.
  TaskGraph program;
  /// When its tasks run, in one pass of the loop. If several programs take turns, it is a single
  /// step without carried tasks, because each change of program waits for those.
  Timeline timeline;
};

/// Predicts a step that runs these programs in turn. Kernels that were chosen by rule have no
/// measured times; these are estimated from the rates of the device, which are measured now.
PredictedStep predict_step(const LiveModel& live, const std::vector<std::string>& programs);
/// The same for the graphs of a model.
PredictedStep predict_step(const LiveModel& live, const zoo::Model& model);

}  // namespace troika
