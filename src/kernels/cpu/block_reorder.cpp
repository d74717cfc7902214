#include "kernels/cpu/block_reorder.h"

#include <algorithm>

#include "kernels/cpu/block_transpose.h"
#include "kernels/cpu/loops.h"

namespace troika {
namespace {

template <int Side>
TROIKA_VECTORIZED void transpose_squares(const float* from, float* to, std::int64_t squares) {
  for (std::int64_t at = 0; at < squares * Side * Side; at += Side * Side)
    transpose_square<Side>(from + at, Side, to + at, Side);
}

/// Between weights blocked i,o and o,i: the blocks stay where they are.
template <int Side>
Loop weight_squares(std::int64_t elements) {
  return [elements](const Launch& launch) {
    std::int64_t squares = elements / (Side * Side);
    int threads = elements < kSmallLoop ? 1 : launch.threads;
    for_shares(threads, squares, 4, [&](std::int64_t begin, std::int64_t end) {
      std::int64_t at = begin * Side * Side;
      transpose_squares<Side>(launch.at(0) + at, launch.at(1) + at, end - begin);
    });
  };
}

TROIKA_VECTORIZED_16 void transpose_part16(const Transposition& m, std::int64_t rows,
                                           std::int64_t columns) {
  transpose_matrix<16>(m, rows, columns);
}
TROIKA_VECTORIZED_8 void transpose_part8(const Transposition& m, std::int64_t rows,
                                         std::int64_t columns) {
  transpose_matrix<8>(m, rows, columns);
}

/// A matrix and its transpose, in strips of columns that become rows.
Loop transposed(std::int64_t rows, std::int64_t columns) {
  auto transpose_part = widest_vector() == 16 ? transpose_part16 : transpose_part8;
  return [=](const Launch& launch) {
    int threads = rows * columns < kSmallLoop ? 1 : launch.threads;
    for_shares(threads, columns, 64, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t at = begin; at < end; at += 64)
        transpose_part({launch.at(0) + at, columns, launch.at(1) + at * rows, rows}, rows,
                       std::min<std::int64_t>(64, end - at));
    });
  };
}

}  // namespace

std::optional<Loop> block_reorder(const Reorder& op, const Shape& shape) {
  auto between = [&](Layout a, Layout b) {
    return (op.from == a && op.to == b) || (op.from == b && op.to == a);
  };
  if (between(Layout::weight_io16, Layout::weight_oi16))
    return weight_squares<16>(stored_elements(op.from, shape));
  if (between(Layout::weight_io8, Layout::weight_oi8))
    return weight_squares<8>(stored_elements(op.from, shape));
  if (op.from == Layout::plain && op.to == Layout::transposed)
    return transposed(shape[0], shape[1]);
  if (op.from == Layout::transposed && op.to == Layout::plain)
    return transposed(shape[1], shape[0]);
  return std::nullopt;
}

}  // namespace troika
