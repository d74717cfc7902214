// The root exchanges with each member directly, one after the other.
#pragma once

#include "collective/recipe.h"

namespace troika {

MemberMoves linear_gather(const CollectiveCall& call, int member);
MemberMoves linear_scatter(const CollectiveCall& call, int member);

}  // namespace troika
