// Finds the run folder that a run file or a path refers to.
#pragma once

#include <filesystem>
#include <string>

#include "config/run_config.h"

namespace troika::cli {

/// A folder with a run.toml in it.
bool is_run_folder(const std::filesystem::path& path);

/// The default name of a run: that of the run file without its extension, or for the run.toml of a
/// run folder the name of that folder.
std::string name_of_run(const std::filesystem::path& file);

/// The newest run of a run file: NAME-3 before NAME-2 before NAME, below config.run.folder. Throws
/// Error(usage) when there is none.
std::filesystem::path newest_run_folder(const RunConfig& config, const std::filesystem::path& file);

}  // namespace troika::cli
