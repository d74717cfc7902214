// The output of `predict` for each kind of model.
#pragma once

#include <cstdint>
#include <string>

#include "cli/console.h"
#include "cli/saved_run.h"
#include "train/predict.h"

namespace troika::cli {

struct PredictRequest {
  std::string uri;     ///< Samples; empty: the run's test set.
  std::string prompt;  ///< A text; empty: samples.
  std::string out;     ///< A file to write instead of printing; empty: print.
  std::int64_t tokens = 200;
  WritingOptions writing;
  bool json = false;
};

/// Depends on the samples that the model was trained on: a class or numbers per sample (images,
/// tables, labelled texts), a translation (pairs), masked tokens, or a continuation of the prompt.
/// Throws Error(usage) if the request does not fit the model.
void predict(SavedRun& run, const PredictRequest& request, Console& console);

}  // namespace troika::cli
