// Redistributions in which every device of a group has an equal part for every other one.
#pragma once

#include <vector>

#include "lower/redistribute.h"

namespace troika {

/// So many single transfers a device can as well do one by one; with more devices there would be a
/// message for each pair of them.
inline constexpr std::size_t kFewestOfAllToAll = 8;

/// Groups of at least so many devices, each with one piece and one need, such that every piece has
/// the same number of elements for every need, and nothing else. Where a device has several pieces
/// (the producer's and one that was brought for another reader) or needs, its group is left alone:
/// transfers bring just what it lacks.
std::vector<Exchange> find_all_to_alls(const std::vector<Placed>& pieces,
                                       const std::vector<Placed>& needs);

}  // namespace troika
