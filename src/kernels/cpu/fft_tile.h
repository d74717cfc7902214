// The Fourier transform of one square tile of real vectors to its spectrum and back.
#pragma once

#include "kernels/cpu/fft_plan.h"

namespace troika {

/// Where the real vectors of a tile lie: (y, x) is first[y * row + x * column], inside the two
/// ranges; elsewhere there is nothing. Steps are negative where a window is flipped.
struct TileView {
  float* first;
  std::int64_t row, column;
  Range rows, columns;
};

struct FftTile {
  int side, lanes;
  float* spectrum;     ///< The first point.
  std::int64_t point;  ///< From one point to the next.
  float* work;         ///< FftPlan::tile_floats().
};

/// Twice the spectrum of what the view has, zeros around it.
void transform_tile(const FftTile& tile, const TileView& from);

/// Writes what the view has room for: scale times the tile, plus bias where there is one (as many
/// numbers as there are lanes). With the scale of `product_scale` it is the tile whose spectrum is
/// the product of those of two others.
void restore_tile(const FftTile& tile, const TileView& to, float scale, const float* bias);

/// Two spectra are twice too large, and coming back multiplies by the number of elements.
constexpr float product_scale(int side) { return 0.25f / static_cast<float>(side * side); }

}  // namespace troika
