// What this machine's links cost, as far as `troika profile --links` has found out.
#pragma once

#include <filesystem>
#include <string>

#include "cost/link_costs.h"

namespace troika {

/// links.json in the folder that `kernels.cache` names, by default the user's; empty where there is
/// none.
std::filesystem::path default_links_file(const std::string& cache = "auto");

/// Processor and cores: what measured costs hold for.
std::string machine_of_links();

/// The costs in the file if they were measured on this machine; assumed ones when it is not there
/// or is another machine's. Throws Error(file) when it is damaged.
LinkCosts known_link_costs(const std::filesystem::path& file);

}  // namespace troika
