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

  /// Chooses groups and panels, so that what is worked on stays in the last-level cache.
  void divide();
  /// The tiles are worked on in nearly equal groups, the blocks of `to` in panels. There is one
  /// group, or there is one panel: the spectra of `from` are kept, or those of the weights.
  std::int64_t groups() const { return (tiles() + group - 1) / group; }
  Range tiles_of(std::int64_t index) const { return part_of(tiles(), index, groups()); }
  std::int64_t panels() const { return (to.blocks() + panel - 1) / panel; }
  Range blocks_of(std::int64_t index) const {
    return {index * panel, std::min(to.blocks(), (index + 1) * panel)};
  }

  Spectra from_spectra() const { return {points(), group, from.blocks(), from.lanes}; }
  /// Of one panel.
  Spectra to_spectra() const { return {points(), group, panel, to.lanes}; }
  /// Of one panel, one row per channel of `from`.
  Spectra weight_spectra() const { return {points(), from.blocks() * from.lanes, panel, to.lanes}; }
  /// All of the above, which a launch holds at once.
  std::int64_t spectra_floats() const {
    return from_spectra().floats() + to_spectra().floats() + weight_spectra().floats();
  }
  std::int64_t points() const { return fft_points(side); }
  /// What a thread needs for one tile between the transforms along its rows and its columns.
  std::int64_t tile_floats() const { return (side + 1) * side * from.lanes; }

  std::int64_t group = 1, panel = 1;
};

inline void FftPlan::divide() {
  constexpr std::int64_t kCached = (16 << 20) / 4, kKept = (64 << 20) / 4;
  group = tiles(), panel = 1;
  if (from_spectra().floats() <= kKept) {
    std::int64_t pairs = kCached / (2 * (to_spectra().floats() + weight_spectra().floats()));
    panel = std::min(to.blocks(), 2 * std::max<std::int64_t>(pairs, 1));
    return;
  }
  panel = to.blocks(), group = 1;
  std::int64_t room = std::max(kCached, weight_spectra().floats());
  group = std::clamp<std::int64_t>(room / (from_spectra().floats() + to_spectra().floats()), 1,
                                   tiles());
  group = (tiles() + groups() - 1) / groups();
}

/// Where a tile lies; its elements of `from` begin `pad` before those of `to`.
struct FftPlace {
  FftPlace(const FftPlan& plan, std::int64_t tile)
      : sample(tile / (plan.tile_rows() * plan.tile_columns())),
        y(tile / plan.tile_columns() % plan.tile_rows() * plan.height()),
        x(tile % plan.tile_columns() * plan.width()) {}

  std::int64_t sample, y, x;
};

}  // namespace troika
