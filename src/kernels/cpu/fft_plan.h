// How a convolution falls into tiles for the Fourier transform (overlap-save), and how their
// spectra lie in memory.
#pragma once

#include <algorithm>
#include <array>

#include "tensor/region.h"

namespace troika {

/// Matrices of complex numbers, one per frequency point. A block is the real parts of its lanes and
/// then the imaginary ones; two columns of blocks lie together row by row, so that a product walks
/// through memory in order. Points are an odd number of blocks apart, so that the points of a tile
/// do not fall on the same cache set.
struct Spectra {
  std::int64_t points, rows, blocks, lanes;

  std::int64_t block() const { return 2 * lanes; }
  std::int64_t point() const { return (rows * blocks | 1) * block(); }
  std::int64_t floats() const { return points * point(); }
  /// From one row to the next, in the column of this block.
  std::int64_t row(std::int64_t block_at) const {
    return ((block_at | 1) < blocks ? 2 : 1) * block();
  }
  std::int64_t offset(std::int64_t row_at, std::int64_t block_at) const {
    return block_at / 2 * 2 * rows * block() + row_at * row(block_at) + block_at % 2 * block();
  }
};

/// Images in n,C,h,w,c with `lanes` channels together.
struct FftImages {
  std::int64_t channels, height, width, lanes;

  std::int64_t blocks() const { return (channels + lanes - 1) / lanes; }
  std::int64_t plane() const { return height * width * lanes; }
  std::int64_t offset(std::int64_t sample, std::int64_t block) const {
    return (sample * blocks() + block) * plane();
  }
};

/// Of a square tile of real numbers, those frequencies that the others do not follow from.
constexpr std::int64_t fft_points(std::int64_t side) { return side * side / 2 + 2; }

struct FftPlan {
  std::int64_t samples;
  FftImages from;  ///< What the windows read.
  FftImages to;    ///< One element per window; of the weight's gradient, what is read as well.
  std::array<std::int64_t, 2> window, pad;
  int side;  ///< Of a tile of `from`.
  int threads;

  int lanes() const { return static_cast<int>(from.lanes); }
  /// Elements of `to` that a tile gives, down and across.
  std::int64_t height() const { return side - window[0] + 1; }
  std::int64_t width() const { return side - window[1] + 1; }
  std::int64_t tile_rows() const { return (to.height + height() - 1) / height(); }
  std::int64_t tile_columns() const { return (to.width + width() - 1) / width(); }
  std::int64_t tiles() const { return samples * tile_rows() * tile_columns(); }

  /// Chooses the groups: the spectra of their tiles should stay in the last-level cache, but not be
  /// fewer than those of the weights, which every group reads.
  void divide() {
    constexpr std::int64_t kFloats = (16 << 20) / 4;
    group = 1;
    std::int64_t of_tile = from_spectra().floats() + to_spectra().floats(),
                 room = std::max(kFloats, weight_spectra().floats());
    group = std::clamp<std::int64_t>(room / of_tile, 1, tiles());
    group = (tiles() + groups() - 1) / groups();
  }
  /// The tiles are worked on in nearly equal groups.
  std::int64_t groups() const { return (tiles() + group - 1) / group; }
  Range tiles_of(std::int64_t index) const { return part_of(tiles(), index, groups()); }

  Spectra from_spectra() const { return {points(), group, from.blocks(), from.lanes}; }
  Spectra to_spectra() const { return {points(), group, to.blocks(), to.lanes}; }
  /// One row per channel of `from`.
  Spectra weight_spectra() const {
    return {points(), from.blocks() * from.lanes, to.blocks(), to.lanes};
  }
  std::int64_t points() const { return fft_points(side); }
  /// What a thread needs for one tile between the transforms along its rows and its columns.
  std::int64_t tile_floats() const { return (side + 1) * side * from.lanes; }

  std::int64_t group = 1;
};

/// Where a tile lies; its elements of `from` begin `pad` before those of `to`.
struct FftPlace {
  FftPlace(const FftPlan& plan, std::int64_t tile)
      : sample(tile / (plan.tile_rows() * plan.tile_columns())),
        y(tile / plan.tile_columns() % plan.tile_rows() * plan.height()),
        x(tile % plan.tile_columns() * plan.width()) {}

  std::int64_t sample, y, x;
};

}  // namespace troika
