// The text of a configuration file.
#pragma once

#include <string>

namespace troika::config {

/// Throws Error(usage) that names the path. At most one byte more than such a file may have, so
/// that an endless file ends too.
std::string read_text(const std::string& path);

}  // namespace troika::config
