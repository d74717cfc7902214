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

/// True if the loss is a mean error against the targets of the samples. Only such a loss of
/// normalised targets is that of the user's numbers, divided by a constant.
bool compares_targets(const Graph& graph);

/// The factor from the loss that a graph computes to the loss in the user's units; 1 unless it
/// compares with the targets of the samples and these are normalised numbers.
double loss_unit(const Graph& graph, const data::Encoding& samples);

/// Borrowed: the graph that evaluation_program() got, and the samples.
struct EvaluationRequest {
  const Graph& graph;
  const data::Dataset& samples;
  std::int64_t batch;
  DType dtype;
};

/// Runs the evaluation program over every sample once. Collective. Figures are in the user's units.
Evaluation evaluate(LiveModel& live, const EvaluationRequest& request);

}  // namespace troika
