// Barrier: in step k every member signals the one 2^k positions ahead. Hensgen, Finkel and Manber
// 1988, doi:10.1007/BF01379320.
#pragma once

#include "collective/recipe.h"

namespace troika {

MemberMoves dissemination_barrier(const CollectiveCall& call, int member);

}  // namespace troika
