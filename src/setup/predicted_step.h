// The step of a run as the simulator predicts it.
#pragma once

#include <string>
#include <vector>

#include "setup/live_model.h"
#include "taskgraph/timeline.h"

namespace troika {

struct PredictedStep {
  SimTime time{};  ///< From one step to the next.
  /// The first of the step's programs, with the predicted time of every task.
  TaskGraph program;
  /// When its tasks run: one pass of the loop. Of several programs that take turns, one step from
  /// rest, because each change of program waits for the carried tasks.
  Timeline timeline;
};

/// A step that runs these programs in turn. Kernels that were chosen by rule have no times; theirs
/// are estimated from the rates of the device, which are measured now.
PredictedStep predict_step(const LiveModel& live, const std::vector<std::string>& programs);
/// The same for the graphs of a model.
PredictedStep predict_step(const LiveModel& live, const zoo::Model& model);

}  // namespace troika
