// Every key of run.toml, declared once.
#pragma once

#include <vector>

#include "config/key.h"
#include "config/run_config.h"

namespace troika::config {

/// The sections of run.toml and their keys.
const KeyTable<RunConfig>& run_keys();

/// Every key with its value in `config`, in the order of the sections.
std::vector<Entry> list_run(const RunConfig& config);

}  // namespace troika::config
