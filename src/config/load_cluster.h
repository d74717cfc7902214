// cluster.toml → Cluster, or every error of it at once.
#pragma once

#include <string>
#include <string_view>

#include "machine/cluster.h"

namespace troika {

/// Throws one Error(usage) whose message has a line for every error: "cluster.toml:7:1: error: …".
Cluster load_cluster(const std::string& path);
/// The same for a text; `path` is its name in messages.
Cluster parse_cluster(std::string_view text, const std::string& path);

/// True if the sections of a TOML text are those of a cluster file rather than of a run file.
bool looks_like_cluster(std::string_view text);
/// The same for a file; false if it cannot be read.
bool is_cluster_file(const std::string& path);

/// A complete cluster.toml, each key explained.
std::string_view cluster_template();

}  // namespace troika
