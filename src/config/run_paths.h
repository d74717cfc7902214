// Paths in a run file are relative to that file; those on the command line, and defaults, to the
// working directory.
#pragma once

#include <filesystem>
#include <string>

#include "config/reader.h"
#include "config/run_config.h"

namespace troika {

/// Makes the paths that the file states relative to the working directory: its data sets, plan
/// file, folder of runs and kernel cache. `folder` is that of the file.
void resolve_paths(RunConfig& run, const config::Origins& origins,
                   const std::filesystem::path& folder);

/// The same run from any working directory, and wherever its file lies.
RunConfig with_absolute_paths(RunConfig config);

}  // namespace troika
