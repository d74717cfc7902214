// A model as a run left it: the run's own configuration and one of its checkpoints.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "config/run_config.h"
#include "train/training_run.h"

namespace troika::cli {

struct SavedRun {
  std::filesystem::path checkpoint;
  std::int64_t step = 0;
  RunConfig config;
  data::Encoding samples;  ///< The encoding that the model was trained with.
};

/// `path` is a run folder, its checkpoints or one of them. The run file is that of the run folder,
/// or for a checkpoint that was copied elsewhere its own. No training data is needed, unless an
/// earlier version wrote the checkpoint. Throws Error(file) when something is missing.
SavedRun open_saved_run(const std::filesystem::path& path, Pick pick);

/// The data set `uri`, or the run's test set if it is empty, as the model expects it. Throws
/// Error(usage) if there is neither, or if samples or classes do not fit.
std::unique_ptr<data::Dataset> open_samples(const SavedRun& run, const std::string& uri);

struct EvaluationSamples {
  std::string name;  ///< For the user.
  Metric::Set set;
  std::unique_ptr<data::Dataset> samples;
};

/// As open_samples(), but a run without a test set gives its validation set.
EvaluationSamples open_evaluation_samples(const SavedRun& run, const std::string& uri);

/// The run's model for a batch of samples like those of the training set.
zoo::Model build_saved(const SavedRun& run, std::int64_t batch);

/// After start(): every parameter from the checkpoint; Error(file) naming the first one that it
/// lacks.
void load_saved(const SavedRun& run, LiveModel& live);

}  // namespace troika::cli
