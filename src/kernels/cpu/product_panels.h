// Factors of a large matrix product laid out as its tiles read them.
#pragma once

#include <algorithm>

#include "kernels/cpu/block_transpose.h"
#include "kernels/cpu/lane_product.h"
#include "kernels/cpu/product_tile.h"

namespace troika {

/// Whether numbers of one column lie behind one another, and those of one row do not.
inline bool is_turned(const Factor& factor) { return factor.row == 1 && factor.column != 1; }

inline Factor part_from(const Factor& factor, std::int64_t i, std::int64_t j) {
  return {factor.first + i * factor.row + j * factor.column, factor.row, factor.column};
}

/// `depth` rows of as many vectors as the columns need, zeros behind them.
template <int Lanes>
TROIKA_INLINE void pack_panel(const Factor& b, std::int64_t depth, std::int64_t columns,
                              float* to) {
  std::int64_t width = (columns + Lanes - 1) / Lanes * Lanes;
  if (is_turned(b)) {
    transpose_matrix<Lanes>({b.first, b.column, to, width}, columns, depth);
    for (std::int64_t k = 0; columns < width && k < depth; ++k)
      std::fill(to + k * width + columns, to + (k + 1) * width, 0.0f);
    return;
  }
  for (std::int64_t k = 0; k < depth; ++k, to += width) {
    const float* from = b.first + k * b.row;
    std::int64_t j = 0;
    for (; j + Lanes <= columns; j += Lanes) {
      Vector<Lanes> vector;
      load(vector, from + j);
      store(vector, to + j);
    }
    for (; j < columns; ++j) to[j] = from[j];
    for (; j < width; ++j) to[j] = 0;
  }
}

/// Panels of kPanelColumns<Lanes>, one behind the other; the last may be narrower.
template <int Lanes>
TROIKA_INLINE void pack_block(const Factor& b, std::int64_t depth, std::int64_t columns,
                              float* to) {
  for (std::int64_t j = 0; j < columns; j += kPanelColumns<Lanes>)
    pack_panel<Lanes>(part_from(b, 0, j), depth, std::min(kPanelColumns<Lanes>, columns - j),
                      to + j * depth);
}

/// Asks for the lines of the next block of b while the tiles of the current one are computed:
/// otherwise packing would wait for memory.
class NextBlock {
 public:
  NextBlock() = default;
  /// All lines are asked for by so many calls of fetch().
  NextBlock(const Factor& b, std::int64_t depth, std::int64_t columns, std::int64_t calls)
      : first_(b.first), run_(is_turned(b) ? b.column : b.row) {
    std::int64_t length = is_turned(b) ? depth : columns;
    lines_ = (length + kLine - 1) / kLine;
    runs_left_ = is_turned(b) ? columns : depth;
    per_call_ = (lines_ * runs_left_ + calls - 1) / calls;
  }

  TROIKA_INLINE void fetch() {
    for (std::int64_t i = 0; i < per_call_ && runs_left_ > 0; ++i) {
      __builtin_prefetch(first_ + line_ * kLine, 0, 2);
      if (++line_ < lines_) continue;
      line_ = 0, --runs_left_, first_ += run_;
    }
  }

 private:
  static constexpr std::int64_t kLine = 16;  // floats
  const float* first_ = nullptr;
  std::int64_t run_ = 0;  // floats from one run of lines to the next
  std::int64_t lines_ = 0, line_ = 0, runs_left_ = 0, per_call_ = 0;
};

}  // namespace troika
