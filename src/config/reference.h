// docs/config.md: every key of run.toml and cluster.toml, from the tables that read them.
#pragma once

#include <string>

namespace troika {

/// The whole document, as Markdown.
std::string config_reference();

}  // namespace troika
