// A cluster as the text of a cluster.toml, for tests that read it back.
#pragma once

#include <string>

#include "machine/cluster.h"

namespace troika::config {

/// parse_cluster reads it back to an equal cluster. Has [[links]] or [network], as the cluster
/// uses.
std::string cluster_text(const Cluster& cluster);

}  // namespace troika::config
