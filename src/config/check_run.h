// Conditions between several keys of a run.
#pragma once

#include "config/reader.h"
#include "config/run_config.h"

namespace troika::config {

/// Reports to `reader` every combination of values that is not allowed.
void check_run(const RunConfig& config, Reader& reader);

}  // namespace troika::config
