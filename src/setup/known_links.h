// Finds the link costs of this machine that `troika profile --links` has measured.
#pragma once

#include <filesystem>
#include <string>

#include "cost/link_costs.h"

namespace troika {

/// Returns the path of links.json in the folder that `kernels.cache` names, by default the user's
/// cache; empty if there is no cache folder.
std::filesystem::path default_links_file(const std::string& cache = "auto");

/// Names the processor and core count for which measured costs are valid.
std::string machine_of_links();

/// Returns the costs in the file if they were measured on this machine; assumed costs if the file
/// does not exist or belongs to another machine. Throws Error(file) if it is damaged.
LinkCosts known_link_costs(const std::filesystem::path& file);

}  // namespace troika
