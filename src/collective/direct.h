// All-reduce of members that share memory: member i combines slice i of all vectors and writes the
// result into all of them. One pass over memory; the only messages are loans; no scratch.
#pragma once

#include "collective/recipe.h"

namespace troika {

/// Combines in the order of the members, which equals the tree order for two members only.
MemberMoves direct_all_reduce(const CollectiveCall& call, int member);

/// The same with non-temporal stores: faster for long vectors on some processors, several times
/// slower on others.
MemberMoves direct_streamed_all_reduce(const CollectiveCall& call, int member);

}  // namespace troika
