// The samples that a run trains and tests on, and what the zoo must know of them.
#pragma once

#include <memory>
#include <string>

#include "config/run_config.h"
#include "data/dataset.h"
#include "zoo/model.h"

namespace troika {

struct TrainingSets {
  std::unique_ptr<data::Dataset> train;
  std::unique_ptr<data::Dataset> test;  ///< Null: no evaluation.
};

/// Opens what [data] names; the test set is normalised like the training set. Throws Error(usage)
/// when the two do not fit each other.
TrainingSets open_sets(const RunConfig& config);

/// Throws Error(usage) unless a model trained on `train` can be used on `given`: the same fields,
/// no class it does not know, the same characters.
void check_fit(const data::Dataset& train, const data::Dataset& given, const std::string& name);

zoo::Samples samples_of(const data::Dataset& dataset, const RunConfig& config, std::int64_t batch);

}  // namespace troika
