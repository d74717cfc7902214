// How a convolution is cut into tiles for the Fourier transform (overlap-save), how the spectra of
// tiles are stored, and the steps that a kernel is made of: transforms of tiles and products of
// spectra.
//
// A convolution is `to` = `from` * weight. At each frequency point it is a product of matrices of
// complex numbers: tiles x channels by channels x channels.
#pragma once

#include "kernels/cpu/convolution.h"

namespace troika {

/// Matrices of complex numbers, one per frequency point. A block holds the real parts of its lanes,
/// then the imaginary parts. Two columns of blocks are stored together, row by row, so that a
/// product reads memory in order. Points are an odd number of blocks apart, so that the points of a
/// tile do not share one cache set.
struct Spectra {
  std::int64_t points, rows, blocks, lanes;

  std::int64_t block() const { return 2 * lanes; }
  std::int64_t point() const { return (rows * blocks | 1) * block(); }
  std::int64_t floats() const { return points * point(); }
  /// Floats between neighbouring rows in the column of this block.
  std::int64_t row(std::int64_t block_at) const {
    return ((block_at | 1) < blocks ? 2 : 1) * block();
  }
  std::int64_t offset(std::int64_t row_at, std::int64_t block_at) const {
    return block_at / 2 * 2 * rows * block() + row_at * row(block_at) + block_at % 2 * block();
  }
};

/// Frequencies of a square tile of real numbers from which the others follow by symmetry.
constexpr std::int64_t fft_points(std::int64_t side) { return side * side / 2 + 2; }

struct FftPlan {
  std::int64_t samples;
  BlockedImages from;  ///< Read by the windows.
  BlockedImages to;    ///< One element per window. The weight's gradient reads it too.
  std::array<std::int64_t, 2> window, pad;
  int side;  ///< Elements of `from` along each side of a tile: 16, 32 or 64.
  int threads;

  int lanes() const { return static_cast<int>(from.lanes); }
  /// Elements of `to` that a tile yields, down and across.
  std::int64_t height() const { return side - window[0] + 1; }
  std::int64_t width() const { return side - window[1] + 1; }
  std::int64_t tile_rows() const { return (to.height + height() - 1) / height(); }
  std::int64_t tile_columns() const { return (to.width + width() - 1) / width(); }
  std::int64_t tiles() const { return samples * tile_rows() * tile_columns(); }
  /// A tile's elements of `from` begin `pad` before those of `to`.
  TileOrigin origin(std::int64_t tile) const {
    return {tile / (tile_rows() * tile_columns()), tile / tile_columns() % tile_rows() * height(),
            tile % tile_columns() * width()};
  }

  /// Chooses groups and panels, so that the working set stays in the last-level cache.
  void divide();
  /// Tiles are processed in nearly equal groups, blocks of `to` in panels. There is one group or
  /// one panel: either the spectra of `from` are kept for all panels, or those of the weights for
  /// all groups.
  std::int64_t groups() const { return (tiles() + group - 1) / group; }
  Range tiles_of(std::int64_t index) const { return part_of(tiles(), index, groups()); }
  std::int64_t panels() const { return (to.blocks + panel - 1) / panel; }
  Range blocks_of(std::int64_t index) const {
    return {index * panel, std::min(to.blocks, (index + 1) * panel)};
  }

  Spectra from_spectra() const { return {points(), group, from.blocks, from.lanes}; }
  /// Spectra of one panel.
  Spectra to_spectra() const { return {points(), group, panel, to.lanes}; }
  /// Spectra of one panel, with one row per channel of `from`.
  Spectra weight_spectra() const { return {points(), from.blocks * from.lanes, panel, to.lanes}; }
  /// Floats of the three spectra above, which a launch holds at the same time.
  std::int64_t spectra_floats() const {
    return from_spectra().floats() + to_spectra().floats() + weight_spectra().floats();
  }
  std::int64_t points() const { return fft_points(side); }
  /// Floats that a thread needs for one tile between the transforms along rows and columns.
  std::int64_t tile_floats() const { return (side + 1) * side * from.lanes; }

  std::int64_t group = 1, panel = 1;
};

/// Real vectors of a tile: (y, x) is first[y * row + x * column] inside the two ranges, and zero
/// outside. Strides are negative if a window is flipped.
struct TileView {
  float* first;
  std::int64_t row, column;
  Range rows, columns;
};

struct FftTile {
  int side, lanes;
  float* spectrum;     ///< The first point.
  std::int64_t point;  ///< Floats between neighbouring points.
  float* work;         ///< FftPlan::tile_floats().
};

/// Computes twice the spectrum of the tile.
void transform_tile(const FftTile& tile, const TileView& from);

/// Transforms back and writes the ranges of the view: scale times the tile, plus `bias` unless it
/// is null (one number per lane). With product_scale() the result is the tile whose spectrum is the
/// product of two others.
void restore_tile(const FftTile& tile, const TileView& to, float scale, const float* bias);

/// Two spectra are twice too large, and the transform back multiplies by the number of elements.
constexpr float product_scale(int side) { return 0.25f / static_cast<float>(side * side); }

/// Computes the spectrum of tile `tile` of the images that windows read, row `row` of its group.
void transform_from(const FftPlan& plan, const float* images, std::int64_t tile, std::int64_t row,
                    std::int64_t block, float* spectra, float* work);

/// Returns the part of a tile that begins at `begin` which lies inside [0, extent), counted from
/// the tile's first element.
Range inside(std::int64_t begin, std::int64_t length, std::int64_t extent);

/// c = a * conj(b) or c += a * conj(b) at one point, on one thread. The layout of a depends on
/// `turned`: false, a has the rows of c, and the depth along them; true, a has the depth in its
/// rows, and the rows of c along them in whole vectors.
struct SpectrumProduct {
  bool turned = false;
  bool adds = false;
  std::int64_t rows, depth;
  std::int64_t blocks;  ///< Blocks of columns to compute; the spectra may have more.
  Spectra a_spectra, b_spectra, c_spectra;
  const float *a, *b;  ///< Of the first point, as c is.
  float* c;
};
void multiply(const SpectrumProduct& product, std::int64_t point);

}  // namespace troika
