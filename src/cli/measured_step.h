// A step as a run measured it, from trace.json and metrics.jsonl of its folder.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "taskgraph/timeline.h"

namespace troika::cli {

/// The part of a run, from a start or resume to its end, that a trace is of. Figures are 0 and the
/// text is empty where an earlier version wrote the trace.
struct TracedPart {
  std::string plan_hash{};  ///< As in RunState.
  std::int64_t ranks = 0;
  std::int64_t first_step = 0, last_step = 0;  ///< Steps of the run before and after this part.
  std::int64_t batch = 0;                      ///< Global batch of the step that was traced.
};

struct MeasuredStep {
  Timeline timeline;  ///< Shows the devices of all ranks, or those of the first one.
  TracedPart part;
  /// From step to step: the median of what this part of the run reported of steps with the same
  /// batch. 0: it reported none.
  SimTime period{};
};

/// Throws Error(file) if the run has no trace, because it has not ended, or if a file is damaged.
MeasuredStep read_measured_step(const std::filesystem::path& run);

}  // namespace troika::cli
