// Whether each tile of a split can be computed on its own.
#pragma once

#include "strategy/split_check.h"

namespace troika {

/// For a split with known axes, and degrees and weights in range. The time grows with the number of
/// parts of each axis, not with the number of tiles. The sentence lists the degrees that would fit.
[[nodiscard]] std::optional<std::string> why_tiles_infeasible(const SplitSubject& subject,
                                                              const Split& split,
                                                              const SplitTerms& terms);

}  // namespace troika
