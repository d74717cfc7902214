// The keys of a run that a plan file repeats.
#pragma once

#include <string_view>
#include <vector>

#include "config/run_config.h"
#include "strategy/strategy.h"

namespace troika {

/// The keys of a section that are set and used, by their names inside the section, such as
/// "schedule.kind". "model" has its options, without the name.
std::vector<Setting> settings_of(const RunConfig& config, std::string_view section);

}  // namespace troika
