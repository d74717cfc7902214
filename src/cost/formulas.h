// The closed formulas of docs/algorithms.md, one for each line of the list of algorithms: the time
// of a recipe without making it, in time that grows with the number of steps only.
#pragma once

#include <string_view>

#include "collective/recipe.h"
#include "cost/link_costs.h"

namespace troika {

/// Equal to recipe_time of the recipe wherever the members' parts are equal and all messages of a
/// step take the same kind of link; else each step counts with its longest part and its slowest
/// link. Segments are known to the ring. Where messages hide combining (its segments,
/// reduce_scatter in the tree order), exact as long as a message is combined in no more time than
/// it travels.
SimTime formula_time(const CollectiveCall& call, std::string_view algorithm, Bytes element,
                     const LinkCosts& costs);

}  // namespace troika
