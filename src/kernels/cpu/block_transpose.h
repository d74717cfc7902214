// Squares of Side x Side floats transposed in registers.
#pragma once

#include "kernels/cpu/vector_lanes.h"

namespace troika {

template <int Lanes>
struct LaneNumbers {
  typedef std::int32_t Type __attribute__((vector_size(Lanes * sizeof(std::int32_t))));
};

/// Swaps the off-diagonal squares of side `Distance` inside squares of twice that side.
template <int Side, int Distance>
TROIKA_INLINE void swap_squares(Vector<Side> (&rows)[Side]) {
  typename LaneNumbers<Side>::Type upper{}, lower{};
  for (int lane = 0; lane < Side; ++lane) {
    bool second = (lane & Distance) != 0;
    upper[lane] = second ? Side + lane - Distance : lane;
    lower[lane] = second ? Side + lane : lane + Distance;
  }
#pragma GCC unroll 16
  for (int i = 0; i < Side; ++i) {
    if ((i & Distance) != 0) continue;
    Vector<Side> a = rows[i], b = rows[i + Distance];
    rows[i] = __builtin_shuffle(a, b, upper);
    rows[i + Distance] = __builtin_shuffle(a, b, lower);
  }
}

/// Transposes a square. `from_row` and `to_row` are row strides in floats; both may be one square.
template <int Side>
TROIKA_INLINE void transpose_square(const float* from, std::int64_t from_row, float* to,
                                    std::int64_t to_row) {
  Vector<Side> rows[Side];
#pragma GCC unroll 16
  for (int i = 0; i < Side; ++i) load(rows[i], from + i * from_row);
  swap_squares<Side, 1>(rows);
  swap_squares<Side, 2>(rows);
  swap_squares<Side, 4>(rows);
  if constexpr (Side == 16) swap_squares<Side, 8>(rows);
#pragma GCC unroll 16
  for (int i = 0; i < Side; ++i) store(rows[i], to + i * to_row);
}

/// A matrix and its transpose, with their row strides in floats.
struct Transposition {
  const float* from;
  std::int64_t from_row;
  float* to;
  std::int64_t to_row;
};

/// Sixteen rows at a time, so that whole lines are written. Side is 16 with AVX-512 and 8 without:
/// a square of 16 fills all its registers.
template <int Side>
TROIKA_INLINE void transpose_matrix(const Transposition& m, std::int64_t rows,
                                    std::int64_t columns) {
  for (std::int64_t row = 0; row < rows; row += 16) {
    for (std::int64_t column = 0; column < columns; column += Side) {
      const float* from = m.from + row * m.from_row + column;
      float* to = m.to + column * m.to_row + row;
      if (row + 16 <= rows && column + Side <= columns) {
        for (int i = 0; i < 16; i += Side)
          transpose_square<Side>(from + i * m.from_row, m.from_row, to + i, m.to_row);
        continue;
      }
      for (std::int64_t i = 0; i < 16 && row + i < rows; ++i)
        for (std::int64_t j = 0; j < Side && column + j < columns; ++j)
          to[j * m.to_row + i] = from[i * m.from_row + j];
    }
  }
}

}  // namespace troika
