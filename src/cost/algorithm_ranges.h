// A user's own choice of algorithms by size: "recursive_doubling:0-8KiB;ring:8KiB-max".
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "collective/recipe.h"

namespace troika {

struct AlgorithmRange {
  std::string algorithm;
  Bytes from{};
  std::optional<Bytes> to;  ///< Exclusive; unset: no limit.

  bool operator==(const AlgorithmRange&) const = default;
};

/// Sorted, without overlap. For other sizes the costs decide.
using AlgorithmRanges = std::vector<AlgorithmRange>;

/// Throws Error(usage) that quotes the wrong part and says what is expected: an unknown algorithm
/// of this kind, an invalid size, an empty range, or two that overlap.
AlgorithmRanges parse_algorithm_ranges(std::string_view text, Collective kind);

/// Returns the range that contains `bytes`, or null.
const AlgorithmRange* find_range(const AlgorithmRanges& ranges, Bytes bytes);

}  // namespace troika
