// Patterns over parameter names, for parameter groups and for freezing: "*.bias", "features.*".
#pragma once

#include <string_view>

namespace troika {

/// Returns whether the whole name matches the pattern: '*' matches any number of characters, dots
/// included, '?' exactly one, and any other character itself.
bool matches(std::string_view pattern, std::string_view name);

}  // namespace troika
