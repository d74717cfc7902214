// Element-wise arithmetic of moves, chosen once per operation by element type and rule.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "collective/combine_rule.h"
#include "tensor/dtype.h"

namespace troika {

/// All functions work on contiguous elements. 16-bit elements are added in f32 and rounded to
/// nearest once per call; sums of i32 wrap around. A minimum or maximum with a NaN among
/// its operands is NaN.
struct Arithmetic {
  /// to = to combined with from.
  void (*combine)(std::byte* to, const std::byte* from, std::int64_t count);
  /// Combines the same elements of all vectors, in the order of the vectors, divides by `divisor`
  /// unless it is 1, and writes the result into all of them; with non-temporal stores if `streams`.
  void (*combine_all)(std::span<std::byte* const> vectors, std::int64_t count, int divisor,
                      bool streams);
  /// Quotients of i32 are rounded towards zero.
  void (*divide)(std::byte* values, std::int64_t count, int divisor);
};

/// A mean has the arithmetic of a sum; dividing is a move of its own.
Arithmetic arithmetic_of(DType dtype, CombineRule rule);

/// Conversion between a 16-bit type and f32.
struct Widening {
  void (*widen)(std::byte* wide, const std::byte* narrow, std::int64_t count);
  /// Divides in f32, then rounds to nearest.
  void (*narrow)(std::byte* narrow, const std::byte* wide, std::int64_t count, int divisor);
};

/// Throws Bug for other types.
Widening widening_of(DType dtype);

}  // namespace troika
