// The innermost parts of a large matrix product: panels of the second factor, packed as tiles read
// them, and tiles of sums that are held in registers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <span>

#include "kernels/cpu/block_transpose.h"
#include "kernels/cpu/lane_product.h"
#include "kernels/cpu/vector_lanes.h"

namespace troika {

/// Rows of a tile and vectors per row. The sums, one row of b and one number of a fill the 32
/// registers of AVX-512 or the 16 of AVX2.
template <int Lanes>
struct TileShape;
template <>
struct TileShape<16> {
  static constexpr int kRows = 8, kWidth = 3;
};
template <>
struct TileShape<8> {
  static constexpr int kRows = 6, kWidth = 2;
};

template <int Lanes>
inline constexpr std::int64_t kPanelColumns = Lanes* TileShape<Lanes>::kWidth;

using InPlaceFunction = std::function<void(std::span<float>)>;

/// Applied to a finished sum in this order; each may be null.
struct ProductTail {
  const float* bias = nullptr;      ///< One per column.
  const float* residual = nullptr;  ///< Lies like the product.
  const InPlaceFunction* activation = nullptr;

  bool is_empty() const { return bias == nullptr && residual == nullptr && activation == nullptr; }
};

/// The part of the product that a tile or a strip of tiles computes.
struct TileOutput {
  float* c;
  std::int64_t c_row;
  std::int64_t columns;
  bool adds;  ///< Adds to earlier blocks of the depth.
  ProductTail tail;

  void skip(std::int64_t rows, std::int64_t skipped_columns) {
    c += rows * c_row + skipped_columns;
    if (tail.bias != nullptr) tail.bias += skipped_columns;
    if (tail.residual != nullptr) tail.residual += rows * c_row + skipped_columns;
  }
};

/// The first element of the rows of a, and the panel of b: `depth` rows of Width vectors.
struct TileInput {
  const float* a;
  std::int64_t a_row;
  const float* panel;
  std::int64_t depth;
};

/// Stores a tile that is cut off at the right or has a tail. Goes through memory.
template <int Rows, int Columns>
TROIKA_INLINE void finish_tile(float (&tile)[Rows * Columns], const TileOutput& out) {
  for (int i = 0; i < Rows; ++i) {
    float* sums = tile + i * Columns;
    std::int64_t at = i * out.c_row;
    for (std::int64_t j = 0; out.adds && j < out.columns; ++j) sums[j] += out.c[at + j];
    for (std::int64_t j = 0; out.tail.bias != nullptr && j < out.columns; ++j)
      sums[j] += out.tail.bias[j];
    for (std::int64_t j = 0; out.tail.residual != nullptr && j < out.columns; ++j)
      sums[j] += out.tail.residual[at + j];
  }
  if (out.tail.activation != nullptr) (*out.tail.activation)({tile, Rows * Columns});
  for (int i = 0; i < Rows; ++i)
    for (std::int64_t j = 0; j < out.columns; ++j) out.c[i * out.c_row + j] = tile[i * Columns + j];
}

template <int Lanes, int Width, int Rows>
TROIKA_INLINE void store_tile(Vector<Lanes> (&sums)[Rows][Width], const TileOutput& out) {
#pragma GCC unroll 8
  for (int i = 0; i < Rows; ++i) {
#pragma GCC unroll 4
    for (int v = 0; v < Width; ++v) {
      float* to = out.c + i * out.c_row + v * Lanes;
      Vector<Lanes> before = {};
      if (out.adds) {
        load(before, to);
        sums[i][v] += before;
      }
      store(sums[i][v], to);
    }
  }
}

template <int Lanes, int Width, int Rows>
TROIKA_INLINE void compute_tile(const TileInput& in, const TileOutput& out) {
  constexpr int kColumns = Lanes * Width;
  Vector<Lanes> sums[Rows][Width] = {};
  const float *a = in.a, *b = in.panel;
  const std::int64_t a_row = in.a_row, depth = in.depth;
#pragma GCC unroll 8
  for (int i = 0; i < Rows; ++i) __builtin_prefetch(out.c + i * out.c_row, 1);
#pragma GCC unroll 4
  for (std::int64_t k = 0; k < depth; ++k)
    add_outer_product<Lanes>(sums, a + k, a_row, b + k * kColumns);
  if (out.columns == kColumns && out.tail.is_empty()) return store_tile<Lanes>(sums, out);
  float tile[Rows * kColumns];
#pragma GCC unroll 8
  for (int i = 0; i < Rows; ++i) {
#pragma GCC unroll 4
    for (int v = 0; v < Width; ++v) store(sums[i][v], tile + i * kColumns + v * Lanes);
  }
  finish_tile<Rows, kColumns>(tile, out);
}

// Not inlined: inside the surrounding loops the row offsets of a would not stay in registers.
template <int Width, int Rows>
TROIKA_VECTORIZED_16 __attribute__((noinline)) void compute_tile16(const TileInput& in,
                                                                   const TileOutput& out) {
  compute_tile<16, Width, Rows>(in, out);
}
template <int Width, int Rows>
TROIKA_VECTORIZED_8 __attribute__((noinline)) void compute_tile8(const TileInput& in,
                                                                 const TileOutput& out) {
  compute_tile<8, Width, Rows>(in, out);
}

/// A tile of Rows rows and out.columns columns, at most kPanelColumns<Lanes>. Its panel is as many
/// vectors wide as the columns need.
template <int Lanes, int Rows, int Width = TileShape<Lanes>::kWidth>
TROIKA_INLINE void multiply_tile(const TileInput& in, const TileOutput& out) {
  if constexpr (Width > 1) {
    if (out.columns <= (Width - 1) * Lanes) return multiply_tile<Lanes, Rows, Width - 1>(in, out);
  }
  if constexpr (Lanes == 16)
    compute_tile16<Width, Rows>(in, out);
  else
    compute_tile8<Width, Rows>(in, out);
}

/// Rows of the next tile if `left` are left. With few rows the arithmetic waits for its own
/// results, so a short rest is shared with the tile before it.
template <int Lanes>
std::int64_t rows_of_next_tile(std::int64_t left) {
  constexpr int kRows = TileShape<Lanes>::kRows, kWidth = TileShape<Lanes>::kWidth;
  constexpr int kFewest = (8 + kWidth - 1) / kWidth;  // results in flight: 2 per cycle for 4 cycles
  if (left <= kRows) return left;
  return left < kRows + kFewest ? (left + 1) / 2 : kRows;
}

/// Computes a tile of `rows` rows, at most Rows.
template <int Lanes, int Rows = TileShape<Lanes>::kRows>
TROIKA_INLINE void multiply_tile_of(std::int64_t rows, const TileInput& in, const TileOutput& out) {
  if constexpr (Rows > 1) {
    if (rows < Rows) return multiply_tile_of<Lanes, Rows - 1>(rows, in, out);
  }
  multiply_tile<Lanes, Rows>(in, out);
}

/// Returns whether columns are contiguous and rows are not.
inline bool is_turned(const Factor& factor) { return factor.row == 1 && factor.column != 1; }

inline Factor part_from(const Factor& factor, std::int64_t i, std::int64_t j) {
  return {factor.first + i * factor.row + j * factor.column, factor.row, factor.column};
}

/// Packs `depth` rows of as many vectors as the columns need, padded with zeros.
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

/// Packs panels of kPanelColumns<Lanes> one after another; the last may be narrower.
template <int Lanes>
TROIKA_INLINE void pack_block(const Factor& b, std::int64_t depth, std::int64_t columns,
                              float* to) {
  for (std::int64_t j = 0; j < columns; j += kPanelColumns<Lanes>)
    pack_panel<Lanes>(part_from(b, 0, j), depth, std::min(kPanelColumns<Lanes>, columns - j),
                      to + j * depth);
}

/// Prefetches the cache lines of the next block of b while the tiles of the current one are
/// computed; otherwise packing would wait for memory.
class NextBlock {
 public:
  NextBlock() = default;
  /// `calls` calls of fetch() prefetch all lines.
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
