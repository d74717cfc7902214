// Batches of small matrix products on one thread: what Winograd's transforms make of a convolution.
#pragma once

#include <cstdint>

namespace troika {

/// c = a * b or c += a * b, for each of `count` points. The columns of b and c are `width` vectors
/// of `lanes`, and their rows lie behind one another. Of a,
///   - as it lies, the depth comes in blocks of one vector: a[block][row][lane];
///   - turned, the rows are the lanes of one vector: a[depth][row].
struct PointProducts {
  int lanes, width;
  bool turned = false;
  bool adds = false;
  std::int64_t count, rows, depth;
  const float* a;
  std::int64_t a_block;  ///< From one block to the next; not used when turned.
  std::int64_t a_next;   ///< From one point to the next.
  const float* b;
  std::int64_t b_next;
  float* c;
  std::int64_t c_next;
};

void multiply(const PointProducts& products);

/// The widest panel of columns that the registers hold with enough rows beside it.
constexpr int widest_panel(int lanes) { return lanes == 16 ? 4 : 3; }

}  // namespace troika
