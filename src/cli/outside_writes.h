// Detects that a run folder from another user makes this process write outside that folder.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "config/run_config.h"

namespace troika::cli {

/// True if kernels.cache is neither in the run folder nor in the user's cache.
bool writes_cache_outside(const std::filesystem::path& folder, const RunConfig& config);

/// One sentence for each place outside of the run folder and of the user's cache that a run with
/// this configuration writes to: the cache that it names, and what links in the folder lead to.
/// `rank` is this process's.
std::vector<std::string> writes_outside(const std::filesystem::path& folder,
                                        const RunConfig& config, int rank);

}  // namespace troika::cli
