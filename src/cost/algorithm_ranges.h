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
  std::optional<Bytes> to;  ///< Not included; nothing: no limit.

  bool operator==(const AlgorithmRange&) const = default;
};

/// Sorted, without overlap; sizes in none of them are left to the costs.
using AlgorithmRanges = std::vector<AlgorithmRange>;

/// Throws Error(usage) that quotes the part which is wrong and says what is expected: an unknown
/// algorithm of this kind, a size that is none, an empty range, two that overlap.
AlgorithmRanges parse_algorithm_ranges(std::string_view text, Collective kind);

/// The range that a vector of so many bytes falls into.
const AlgorithmRange* find_range(const AlgorithmRanges& ranges, Bytes bytes);

}  // namespace troika
