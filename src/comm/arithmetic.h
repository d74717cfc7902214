// Element by element arithmetic of moves, chosen once per operation by element type and rule.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "collective/combine_rule.h"
#include "tensor/dtype.h"

namespace troika {

/// All work on contiguous elements. Sums of 16-bit elements are made in f32 inside a call and
/// rounded to nearest once per call; sums of i32 wrap around. A minimum or maximum with a NaN among
/// its operands is NaN.
struct Arithmetic {
  /// to = to combined with from.
  void (*combine)(std::byte* to, const std::byte* from, std::int64_t count);
  /// Combines the same elements of all vectors in their order, divides by `divisor` unless it is 1,
  /// and writes the result into all of them; past the caches where `streams`.
  void (*combine_all)(std::span<std::byte* const> vectors, std::int64_t count, int divisor,
                      bool streams);
  /// The quotient of i32 is cut towards zero.
  void (*divide)(std::byte* values, std::int64_t count, int divisor);
};

/// The arithmetic of a mean is that of a sum.
Arithmetic arithmetic_of(DType dtype, CombineRule rule);

/// Between a 16-bit type and f32.
struct Widening {
  void (*widen)(std::byte* wide, const std::byte* narrow, std::int64_t count);
  /// Divides in f32, then rounds to nearest.
  void (*narrow)(std::byte* narrow, const std::byte* wide, std::int64_t count, int divisor);
};

/// Throws Bug for other types.
Widening widening_of(DType dtype);

}  // namespace troika
