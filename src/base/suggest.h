// "Did you mean …?": the nearest known word, for every place that refuses a name.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace troika {

/// Insertions, deletions, substitutions and swaps of neighbours that turn `a` into `b`.
std::size_t edit_distance(std::string_view a, std::string_view b);

/// The candidate nearest to `word`, unless even that one is too far away to be what was meant.
std::optional<std::string> closest(std::string_view word, std::span<const std::string> candidates);

}  // namespace troika
