// Every key of cluster.toml, declared once.
#pragma once

#include <vector>

#include "config/key.h"
#include "machine/cluster.h"

namespace troika::config {

const KeyTable<Cluster>& cluster_keys();

/// The paths of all keys, for suggestions.
std::vector<std::string> cluster_paths();

}  // namespace troika::config
