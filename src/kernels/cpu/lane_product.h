// Small matrix products on one thread, for kernels that process blocks (attention).
#pragma once

#include <cstdint>

namespace troika {

/// Columns that are computed together.
inline constexpr std::int64_t kLanes = 16;

inline constexpr std::int64_t pad_to_lanes(std::int64_t columns) {
  return (columns + kLanes - 1) / kLanes * kLanes;
}

/// A strided matrix: (i, j) is first[i * row + j * column].
struct Factor {
  const float* first;
  std::int64_t row, column;

  Factor turned() const { return {first, column, row}; }
};

/// c = a * b, or c += a * b; a is rows x depth, b is depth x columns.
struct LaneProduct {
  std::int64_t rows, columns, depth;
  Factor a;
  const float* b;  ///< Each row can be read up to pad_to_lanes(columns).
  std::int64_t b_stride;
  float* c;
  std::int64_t c_stride;
  bool adds = false;
};

void multiply(const LaneProduct& product);

}  // namespace troika
