// Broadcast of long vectors: the root scatters slices along a binomial tree, then a ring
// all-gathers them. Chan, Heimlich, Purkayastha and van de Geijn 2007, doi:10.1002/cpe.1206.
#pragma once

#include "collective/recipe.h"

namespace troika {

MemberMoves scatter_all_gather_broadcast(const CollectiveCall& call, int member);

}  // namespace troika
