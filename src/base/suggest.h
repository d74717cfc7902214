// "Did you mean …?": the nearest known word, for messages about an unknown name.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace troika {

/// Returns the number of insertions, deletions, substitutions and swaps of neighbours that turn `a`
/// into `b` (optimal string alignment: Damerau 1964, doi:10.1145/363958.363994).
std::size_t edit_distance(std::string_view a, std::string_view b);

/// Returns the candidate nearest to `word`, or nothing if all differ too much to be a typing error.
std::optional<std::string> closest(std::string_view word, std::span<const std::string> candidates);

}  // namespace troika
