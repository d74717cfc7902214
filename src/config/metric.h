// The metrics of a run that conditions, the best checkpoint and early stopping use.
#pragma once

#include <span>

#include "config/choices.h"

namespace troika {

/// A measure of how well the model does on a set of samples: "validation_accuracy". The training
/// loss is called "loss"; it is averaged over the training steps.
struct Metric {
  enum class Set { train, validation, test };
  enum class Measure { loss, accuracy, top5, perplexity, absolute_error };

  Set set = Set::train;
  Measure measure = Measure::loss;

  bool operator==(const Metric&) const = default;
};

std::span<const Choice<Metric>> choices(Metric);

bool is_higher_better(Metric::Measure measure);

}  // namespace troika
