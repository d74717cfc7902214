// The public options of a run in the terms of a run file.
#pragma once

#include <troika/optim.h>
#include <troika/training.h>

#include "config/run_config.h"

namespace troika::internal {

/// Both throw Error(usage) naming an option whose value is out of range.
RunConfig to_config(const TrainerOptions& options, const optim::Optimizer& optimizer);
void check(const FitOptions& options);

}  // namespace troika::internal
