// Whether each tile of a split can be computed on its own.
#pragma once

#include "strategy/split_check.h"

namespace troika {

/// For a split with known axes, degrees and weights in range, and a device for each tile. The
/// sentence lists the degrees that would fit.
[[nodiscard]] std::optional<std::string> why_tiles_infeasible(const SplitSubject& subject,
                                                              const Split& split,
                                                              const SplitTerms& terms);

/// The product of the degrees; more than a million are counted as about a million.
std::int64_t tile_count(const Split& split);

}  // namespace troika
