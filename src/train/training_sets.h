// The samples that a run trains and tests on, and what the zoo must know of them.
#pragma once

#include <memory>

#include "config/run_config.h"
#include "data/dataset.h"
#include "zoo/model.h"

namespace troika {

struct TrainingSets {
  std::unique_ptr<data::Dataset> train;
  std::unique_ptr<data::Dataset> test;  ///< Null: no evaluation.
};

/// Opens what [data] names, the test set like the training set. Throws Error(usage) when the two do
/// not fit each other.
TrainingSets open_sets(const RunConfig& config);

/// The run's test set for a model that was trained on samples with this encoding. Throws
/// Error(usage) when they do not fit it.
std::unique_ptr<data::Dataset> open_like(const data::Encoding& trained, const RunConfig& config);

zoo::Samples samples_of(const data::Encoding& encoding, const RunConfig& config,
                        std::int64_t batch);

}  // namespace troika
