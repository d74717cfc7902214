// Decides the devices and the plan of a run where the user left them open.
#pragma once

#include "config/reader.h"
#include "config/run_config.h"

namespace troika::config {

/// The number of devices is, in this order: that of the command line, that of the plan (a file or
/// degrees), that of the run file, one per rank. A plan on the command line comes before a number
/// in the file. If the command line or the ranks ask for several devices and no plan for several is
/// named, the plan is "data". A plan file that cannot be read is not reported here but where the
/// plan is loaded.
void resolve_plan(ParallelConfig& parallel, Reader& reader, int ranks);

}  // namespace troika::config
