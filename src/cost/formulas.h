// The closed formulas of docs/algorithms.md, as sums over the phases of an algorithm: the time of a
// recipe without building it. The effort grows with the number of phases.
#pragma once

#include <string_view>

#include "collective/recipe.h"
#include "cost/link_costs.h"

namespace troika {

/// Equal to recipe_time() of the recipe if the members' parts are equal and all messages of a step
/// use the same kind of link; otherwise each step counts with its longest part and its slowest
/// link. Only the ring supports segments. If messages overlap with combining (segments,
/// reduce_scatter in the tree order), the formula is exact as long as combining a message takes no
/// longer than sending it.
SimTime formula_time(const CollectiveCall& call, std::string_view algorithm, Bytes element,
                     const LinkCosts& costs);

}  // namespace troika
