// A step as a run measured it, from the files of its folder.
#pragma once

#include <filesystem>

#include "taskgraph/timeline.h"

namespace troika::cli {

struct MeasuredStep {
  Timeline timeline;  ///< Of the devices of the first rank.
  SimTime period{};   ///< From step to step: the median of what the run reported. 0: not reported.
  int ranks = 1;
};

/// Reads trace.json, metrics.jsonl and env.json. Throws Error(file) if the run has no trace,
/// because it did not end, or if a file is damaged.
MeasuredStep read_measured_step(const std::filesystem::path& run);

}  // namespace troika::cli
