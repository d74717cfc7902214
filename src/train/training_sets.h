// Opens the training, validation and test sets of a run, and describes their samples to the zoo.
#pragma once

#include <memory>
#include <optional>

#include "config/run_config.h"
#include "data/dataset.h"
#include "zoo/model.h"

namespace troika {

struct TrainingSets {
  std::unique_ptr<data::Dataset> train;
  std::unique_ptr<data::Dataset> validation;  ///< If null, the test set is evaluated instead.
  std::unique_ptr<data::Dataset> test;        ///< May be null.
};

/// Opens the sets that [data] names. Validation and test sets use the encoding of the training set
/// and no augmentation. Normalisation and vocabulary come from all of data.train, held-out samples
/// included. With data.normalize = "auto" the targets of a regression are normalised as well. If
/// the run starts from or resumes a checkpoint with this encoding, they keep its unit (see
/// OpenOptions::weights_from). Throws Error(usage) if the sets do not fit each other.
TrainingSets open_sets(const RunConfig& config,
                       const std::optional<data::Encoding>& weights_from = {});

/// The two parts of open_sets, for a training set that is already open. A validation set given as a
/// part of data.train takes its samples away from the training set. Neither does anything if [data]
/// does not name the set.
void open_test(TrainingSets& sets, const RunConfig& config);
void open_validation(TrainingSets& sets, const RunConfig& config);

/// Opens samples for a model that was trained with this encoding. Throws Error(usage) if they do
/// not fit it.
std::unique_ptr<data::Dataset> open_like(const data::Encoding& trained, const std::string& uri,
                                         const RunConfig& config);

/// Describes a batch of samples, as zoo::build needs it.
zoo::Samples samples_of(const data::Encoding& encoding, const RunConfig& config,
                        std::int64_t batch);

}  // namespace troika
