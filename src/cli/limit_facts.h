// The limits in force for this process, as `troika doctor` shows them.
#pragma once

#include <filesystem>
#include <vector>

#include "train/progress.h"

namespace troika::cli {

/// Control groups, affinity, the variables of OpenMP, resource limits, and the threads that "auto"
/// gives. Control groups are read below `root`.
std::vector<Fact> limit_facts(const std::filesystem::path& root = "/");

}  // namespace troika::cli
