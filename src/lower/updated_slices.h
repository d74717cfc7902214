// Who updates which part of a parameter: each device what it stores, or, where the update is
// sliced, each of the replicas a part of its own.
#pragma once

#include <vector>

#include "lower/draft.h"

namespace troika {

/// A part of a parameter that one device updates.
struct UpdatedSlice {
  Placed place;
  Region stored;  ///< The slice of the device that it is all or a part of.
  BufferId weight;
  BufferId gradient{};
};

/// With their gradients, which are obtained here.
std::vector<UpdatedSlice> updated_slices(Draft& draft, std::size_t parameter);

/// Where a slice was updated on one device only, the others get it now.
void gather_slices(Draft& draft, std::size_t parameter);

/// Of each slice the boxes that no region before it has, so that sums over them count every element
/// once; slices of one region have the same boxes.
std::vector<std::vector<Region>> count_once(const std::vector<UpdatedSlice>& slices);

/// The region in boxes that lie one behind the other in its memory, one per owner: whole rows, or
/// parts of rows where there are fewer of them than owners. None is empty unless there are more
/// owners than elements. Equal where one number divides the other; else the largest has less than
/// twice the average, or one index more.
std::vector<Region> cut_among(const Region& region, std::int64_t owners);

}  // namespace troika
