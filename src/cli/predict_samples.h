// Predicts the class or the numbers of each sample; prints them or writes them to a file.
#pragma once

#include <memory>

#include "cli/predictions.h"

namespace troika::cli {

/// The model with its weights, ready to predict batches of this size.
class Predictor {
 public:
  Predictor(const SavedRun& run, std::int64_t batch);
  LiveModel& live() { return live_; }

 private:
  LiveModel live_;
};

/// The prompt as a sample, the data set that the request names (which may have no targets), or the
/// run's test set.
std::unique_ptr<data::Dataset> requested_samples(SavedRun& run, const PredictRequest& request);
std::int64_t batch_for(const SavedRun& run, const data::Dataset& samples);

void print_classes(SavedRun& run, const PredictRequest& request, Console& console);
void print_numbers(SavedRun& run, const PredictRequest& request, Console& console);

}  // namespace troika::cli
