// How well a model does over a whole data set.
#pragma once

#include <optional>
#include <string>

#include "data/dataset.h"
#include "setup/live_model.h"
#include "train/figures.h"
#include "train/training_sets.h"

namespace troika {

struct Evaluation {
  Figures figures;  ///< The loss, and what else the model and its samples have.
  std::int64_t samples = 0;
};

inline constexpr const char* kEvaluateProgram = "evaluate";

/// The program that a model needs for it; `graph`, borrowed, has the batch that evaluate() will
/// use.
ForwardProgram evaluation_program(const Graph& graph);

/// Throws Error(usage) if there are samples to evaluate but the model needs more than samples, or
/// if [train] until or the best checkpoint look at a measure that the model does not have.
void require_evaluable(const RunConfig& config, const TrainingSets& sets, const zoo::Model& model);

/// The factor from the loss that a program computes to the loss in the user's units; 1 unless the
/// targets of the samples are normalised numbers.
double loss_unit(const TaskGraph& program, const data::Encoding& samples);

/// Runs it over every sample once. Figures are in the user's units.
Evaluation evaluate(LiveModel& live, const data::Dataset& dataset, std::int64_t batch, DType dtype);

}  // namespace troika
