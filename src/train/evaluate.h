// The loss and the share of right answers over a whole data set.
#pragma once

#include <optional>
#include <string>

#include "data/dataset.h"
#include "train/live_model.h"

namespace troika {

struct Evaluation {
  double loss = 0;
  std::optional<double> accuracy;  ///< Absent when the model does not classify.
  std::int64_t samples = 0;
};

inline constexpr const char* kEvaluateProgram = "evaluate";

/// The program that a model needs for it; `graph`, borrowed, has the batch that evaluate() will
/// use.
ForwardProgram evaluation_program(const Graph& graph);

/// Runs it over every sample once.
Evaluation evaluate(LiveModel& live, const data::Dataset& dataset, std::int64_t batch, DType dtype);

}  // namespace troika
