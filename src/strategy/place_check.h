// Whether the devices of a split exist and replicas are on different ones.
#pragma once

#include "strategy/split_check.h"

namespace troika {

/// For a split with known axes, and degrees and weights in range.
[[nodiscard]] std::optional<std::string> why_places_wrong(const SplitSubject& subject,
                                                          const Split& split,
                                                          const SplitTerms& terms);

}  // namespace troika
