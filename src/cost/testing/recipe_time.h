// The time of a recipe: the longest path through its moves.
#pragma once

#include "collective/recipe.h"
#include "cost/link_costs.h"

namespace troika {

/// Each member sends one message at a time and receives one at a time, both at once (single port,
/// full duplex). In addition it copies or combines one piece at a time, all in the listed order. A
/// lend, like a give_back, is an empty message.
SimTime recipe_time(const Recipe& recipe, Bytes element, const LinkCosts& costs);

}  // namespace troika
