// A strategy by dynamic programming over estimated costs of operators and of what lies between
// them. It knows neither overlap nor links that are shared, so it is where a search begins.
#pragma once

#include "search/move_estimate.h"
#include "search/split_menus.h"
#include "search/tile_costs.h"

namespace troika {

/// `exposed_sums`: the share of gradient sums that computation does not hide. Looks at the splits
/// of each menu that cost least by themselves. Operators whose layers are cut over time keep the
/// split of the request's strategy.
Strategy program_splits(const SplitMenus& menus, TileCosts& costs, MoveEstimates& moves,
                        double exposed_sums);

}  // namespace troika
