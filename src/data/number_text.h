// Numbers written as text, the same in every locale.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace troika::data {

/// The number that the whole text is, finite or not; nothing when it is not a number.
std::optional<double> parse_double(std::string_view text);
/// Only when it is written as one: "3.0" is not.
std::optional<std::int64_t> parse_whole(std::string_view text);

}  // namespace troika::data
