// Patterns over parameter names, for parameter groups and for freezing: "*.bias", "features.*".
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace troika {

/// Whether the whole name fits the pattern: '*' stands for any characters (dots and none included),
/// '?' for exactly one, all others for themselves.
bool matches(std::string_view pattern, std::string_view name);

/// The index of the first pattern that fits `name`.
std::optional<std::size_t> first_match(std::span<const std::string> patterns,
                                       std::string_view name);

}  // namespace troika
