// How one rank's calls may differ from the others'.
#pragma once

namespace troika {

/// Counts, types, rules, kinds, algorithms; the last but one is the order, the last a missing call.
inline constexpr int kDifferences = 22;

}  // namespace troika
