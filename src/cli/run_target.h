// Which run folder a person means by a run file or a path.
#pragma once

#include <filesystem>
#include <string>

#include "config/run_config.h"

namespace troika::cli {

/// A folder with a run.toml in it.
bool is_run_folder(const std::filesystem::path& path);

/// What a run is called when nobody named it: the run file's name without its ending; for the
/// run.toml of a run folder, that folder's name.
std::string name_of_run(const std::filesystem::path& file);

/// The newest run of a run file: NAME-3 before NAME-2 before NAME, below config.run.folder. Throws
/// Error(usage) when there is none.
std::filesystem::path newest_run_folder(const RunConfig& config, const std::filesystem::path& file);

}  // namespace troika::cli
