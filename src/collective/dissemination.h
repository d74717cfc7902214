// Barrier: in step k everyone signals the member 2^k further on. Hensgen, Finkel and Manber 1988,
// doi:10.1007/BF01379320.
#pragma once

#include "collective/recipe.h"

namespace troika {

MemberMoves dissemination_barrier(const CollectiveCall& call, int member);

}  // namespace troika
