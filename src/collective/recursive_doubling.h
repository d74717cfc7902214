// Butterfly exchange: in step k members at distance 2^k exchange all their data. Fewest messages,
// so best for small vectors. Thakur, Rabenseifner and Gropp 2005, doi:10.1177/1094342005051521.
#pragma once

#include <optional>
#include <string>

#include "collective/group.h"
#include "collective/move_list.h"

namespace troika {

/// Members beyond a power of two fold. Without them, contributions are combined as a tree.
MemberMoves recursive_doubling_all_reduce(const CollectiveCall& call, int member);
/// Needs a power of two members.
MemberMoves recursive_doubling_all_gather(const CollectiveCall& call, int member);

}  // namespace troika
