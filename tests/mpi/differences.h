// How one rank's calls may differ from the others'.
#pragma once

#include <array>

namespace troika {

/// What the sentence about each difference says that the odd rank calls: counts, types, rules,
/// kinds, algorithms; the last but one is the order, the last a missing call.
inline constexpr std::array kOddCalls{
    "all_reduce of 1001 f32",
    "all_reduce of 999 f32",
    "all_reduce of 1 f32",
    "all_reduce of 0 f32",
    "all_reduce of 300000 f32",
    "all_reduce of 1000 f64",
    "all_reduce of 1000 i32",
    "all_reduce of 1000 f16",
    "all_reduce of 1000 bf16",
    "all_reduce of 1000 f32 (max,",
    "all_reduce of 1000 f32 (min,",
    "all_reduce of 1000 f32 (mean,",
    "reduce_scatter of 1000 f32",
    "all_gather of 1000 f32",
    "broadcast of 1000 f32",
    "reduce of 1000 f32 (sum, tree, root 1",
    "barrier of 0 f32",
    "gather of 1000 f32 (sum, linear",
    "all_reduce of 1000 f32 (sum, recursive_doubling",
    "all_reduce of 1000 f32 (sum, ring, segments of 100",
    "barrier of 0 f32",
    "the end of the run",
};
inline constexpr int kDifferences = static_cast<int>(kOddCalls.size());

}  // namespace troika
