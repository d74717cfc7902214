// key=value arguments of the command line, which override the file.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "config/document.h"
#include "config/reader.h"

namespace troika::config {

/// Puts each "section.key=value" into `document`; a later one wins. The value is read as TOML, and
/// as a plain string if it is not TOML and does not begin like a quoted string, an array or a
/// table. Malformed arguments are refused in `reader`.
void apply_overrides(std::span<const std::string> overrides, Table& document, Reader& reader);

/// A TOML value as one would write it on the command line: strings without quotes, where they are
/// read back the same.
std::string argument_text(const std::string& toml);

}  // namespace troika::config
