// A graph cut into regions, in each of which kernels and layouts are decided by themselves. They
// follow from the graph alone, so a change of a strategy concerns the regions that it touches.
#pragma once

#include <cstdint>
#include <vector>

#include "lower/outline.h"

namespace troika {

/// A run of operators in the order of the graph: all phases of theirs, and the updates of the
/// parameters that they are the first to use.
struct UnitRegion {
  std::vector<std::int32_t> operators;
};

/// Tensors and parameters that operators of several regions use, those together that one phase
/// writes or writes the gradients of. How they lie is decided before the regions, by a look at the
/// operators around them.
struct RegionBorder {
  std::vector<std::int32_t> tensors, parameters;
  /// The operators that use them, whichever they are, then those next to them, up to a number.
  std::vector<std::int32_t> window;
  /// In one region views join it to another border, with which it must agree: both lie plain.
  bool is_plain = false;
};

struct UnitRegions {
  std::vector<UnitRegion> regions;
  std::vector<RegionBorder> borders;
  std::vector<std::int32_t> of;  ///< By operator.
};

/// Cuts at places where few values pass, preferably such that have one layout only. Chains of
/// operators that might run as one kernel stay together as long as they fit into a region.
UnitRegions find_regions(const IndexedGraph& index);

}  // namespace troika
