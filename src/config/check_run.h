// What must hold between the keys of a run.
#pragma once

#include "config/reader.h"
#include "config/run_config.h"

namespace troika::config {

/// Refuses in `reader` every set of values that cannot stand together.
void check_run(const RunConfig& config, Reader& reader);

}  // namespace troika::config
