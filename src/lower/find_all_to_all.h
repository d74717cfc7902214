// Redistributions in which every device of a group has an equal part for every other one.
#pragma once

#include <vector>

#include "lower/redistribute.h"

namespace troika {

/// Groups of kFewestOfAllToAll devices or more, each with one piece and one need, such that every
/// piece has the same number of elements for every need, and nothing else. Pieces and needs that
/// reach beyond such a group are left alone. Fewer devices are as quick with single transfers,
/// which need no copy of what stays; more would have a message for each pair of them.
inline constexpr std::size_t kFewestOfAllToAll = 8;
std::vector<Exchange> find_all_to_alls(const std::vector<Placed>& pieces,
                                       const std::vector<Placed>& needs);

}  // namespace troika
