// Runs as text: the effective file, the same with origins, and a commented template.
#pragma once

#include <string>
#include <string_view>

#include "config/load_run.h"

namespace troika {

/// Every value that is used, as a run.toml that reads back to the same config.
std::string write_toml(const RunConfig& config);

/// The same, with the origin of each value in a comment: "default", "FILE:LINE" or "command line".
std::string show_run(const RunFile& run, std::string_view file);

/// A complete run.toml that trains, each key explained.
std::string run_template();

}  // namespace troika
