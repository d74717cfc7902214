// The samples that a run trains and tests on, and what the zoo must know of them.
#pragma once

#include <memory>

#include "config/run_config.h"
#include "data/dataset.h"
#include "zoo/model.h"

namespace troika {

struct TrainingSets {
  std::unique_ptr<data::Dataset> train;
  std::unique_ptr<data::Dataset> validation;  ///< Null: the test set is evaluated instead.
  std::unique_ptr<data::Dataset> test;        ///< Null: not evaluated.
};

/// Opens what [data] names, the other sets like the training set, without augmentation. Throws
/// Error(usage) if they do not fit each other. Normalisation and vocabulary are those of all of
/// data.train, held-out samples included. With data.normalize = "auto" numbers to predict are
/// normalised too, unless the run resumes from a checkpoint with the encoding `resumed` in which
/// they are not: earlier versions did not do that.
TrainingSets open_sets(const RunConfig& config, const data::Encoding* resumed = nullptr);

/// Its parts, for sets that have none of that yet: the test set, and the validation set, which
/// takes its samples from the training set if it is a part of it. Neither does anything if [data]
/// does not name the set.
void open_test(TrainingSets& sets, const RunConfig& config);
void open_validation(TrainingSets& sets, const RunConfig& config);

/// Samples for a model that was trained on others with this encoding. Throws Error(usage) when they
/// do not fit it.
std::unique_ptr<data::Dataset> open_like(const data::Encoding& trained, const std::string& uri,
                                         const RunConfig& config);

zoo::Samples samples_of(const data::Encoding& encoding, const RunConfig& config,
                        std::int64_t batch);

}  // namespace troika
