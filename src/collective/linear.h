// The root exchanges with each member, one after the other: no range passes through a third.
#pragma once

#include "collective/recipe.h"

namespace troika {

MemberMoves linear_gather(const CollectiveCall& call, int member);
MemberMoves linear_scatter(const CollectiveCall& call, int member);

}  // namespace troika
