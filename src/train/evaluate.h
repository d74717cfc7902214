// Evaluates a model on a whole data set.
#pragma once

#include <optional>
#include <string>

#include "data/dataset.h"
#include "setup/live_model.h"
#include "train/progress.h"
#include "train/training_sets.h"

namespace troika {

struct Evaluation {
  Figures figures;  ///< The loss, and further measures that the model and its samples have.
  std::int64_t samples = 0;
};

inline constexpr const char* kEvaluateProgram = "evaluate";

/// Returns the program that evaluate() runs. `graph` is borrowed and has evaluate()'s batch size.
ForwardProgram evaluation_program(const Graph& graph);

/// Throws Error(usage) if there are samples to evaluate but the model has inputs that samples do
/// not fill, or if train.until or checkpoint.best names a measure that the model does not have.
void require_evaluable(const RunConfig& config, const TrainingSets& sets, const zoo::Model& model);

/// Runs the evaluation program over every sample once. Collective.
Evaluation evaluate(LiveModel& live, const data::Dataset& dataset, std::int64_t batch, DType dtype);

}  // namespace troika
