// All transforms process one vector of channels at a time: each lane transforms the tile of its own
// channel, so no data crosses lanes. Squares of 6x6 or 4x4 vectors are unrolled completely.
#include <cstring>
#include <type_traits>

#include "kernels/cpu/winograd_plan.h"
#include "kernels/cpu/winograd_points.h"

namespace troika {
namespace {

/// Carries two constants to a lambda, which deduces them from the type of its argument.
template <int Outputs, int Lanes>
struct TileKind {};

/// Calls f with the plan's sizes as constants, compiled for its lanes.
template <class F>
void dispatch(const WinogradPlan& plan, const F& f) {
  dispatch_lanes(plan.lanes(), [&]<int Lanes>(std::integral_constant<int, Lanes>) {
    if (plan.outputs == 4)
      f(TileKind<4, Lanes>{});
    else
      f(TileKind<2, Lanes>{});
  });
}

/// Loads and stores vectors that are `point` elements apart.
template <int Side, class V>
TROIKA_INLINE void load_square(V (&square)[Side][Side], const float* first, std::int64_t point) {
#pragma GCC unroll 6
  for (int y = 0; y < Side; ++y) {
#pragma GCC unroll 6
    for (int x = 0; x < Side; ++x) load(square[y][x], first + (y * Side + x) * point);
  }
}
template <int Side, class V>
TROIKA_INLINE void store_square(const V (&square)[Side][Side], float* first, std::int64_t point) {
#pragma GCC unroll 6
  for (int y = 0; y < Side; ++y) {
#pragma GCC unroll 6
    for (int x = 0; x < Side; ++x) store(square[y][x], first + (y * Side + x) * point);
  }
}

/// Loads a square of vectors whose first element is at (y, x) of the plane; zero outside of it.
template <int Side, class V>
TROIKA_INLINE void load_tile(const BlockedImages& images, const float* plane, std::int64_t y,
                             std::int64_t x, V (&tile)[Side][Side]) {
  const std::int64_t lanes = sizeof(V) / sizeof(float);
  // A tile inside the plane needs no test per element.
  if (y >= 0 && x >= 0 && y + Side <= images.height && x + Side <= images.width) {
    const float* first = plane + (y * images.width + x) * lanes;
#pragma GCC unroll 6
    for (int row = 0; row < Side; ++row) {
#pragma GCC unroll 6
      for (int column = 0; column < Side; ++column)
        load(tile[row][column], first + (row * images.width + column) * lanes);
    }
    return;
  }
  for (int row = 0; row < Side; ++row) {
    for (int column = 0; column < Side; ++column) {
      tile[row][column] = V{};
      if (y + row < 0 || y + row >= images.height || x + column < 0 || x + column >= images.width)
        continue;
      load(tile[row][column], plane + ((y + row) * images.width + x + column) * lanes);
    }
  }
}

/// Writes [point][block][tile][lane]. `to` is the place of the first of `tiles`, which may be a
/// part of a tile block: the distance between blocks is always that of a whole tile block.
template <int Outputs, int Lanes>
TROIKA_INLINE void image_tiles(const WinogradPlan& plan, const float* image, Range tiles,
                               float* to) {
  constexpr int kSide = Outputs + 2;
  const std::int64_t point = plan.image_point();
  for (std::int64_t block = 0; block < plan.from.blocks; ++block) {
    for (std::int64_t tile = tiles.begin; tile < tiles.end; ++tile) {
      TileOrigin at = plan.origin(tile);
      Vector<Lanes> d[kSide][kSide], v[kSide][kSide];
      load_tile(plan.from, image + plan.from.offset(at.sample, block), at.y - plan.pad[0],
                at.x - plan.pad[1], d);
      from_both_sides(d, v, typename WinogradPoints<Outputs>::Image{});
      float* first = to + (block * plan.tile_block + tile - tiles.begin) * Lanes;
      store_square(v, first, point);
    }
  }
}

/// Transposes the nine squares of a block of weights, so that the lanes of `to` are last.
template <int Lanes>
TROIKA_INLINE void turn_squares(const float* block, float* to) {
  for (int square = 0; square < 9; ++square, block += Lanes * Lanes, to += Lanes * Lanes) {
    for (int i = 0; i < Lanes; ++i) {
#pragma GCC unroll 16
      for (int j = 0; j < Lanes; ++j) to[i * Lanes + j] = block[j * Lanes + i];
    }
  }
}

/// Loads the weights from one channel to one block of channels.
template <int Lanes>
TROIKA_INLINE void load_weights(const float* block, int from_lane, bool flipped,
                                Vector<Lanes> (&g)[3][3]) {
#pragma GCC unroll 9
  for (int at = 0; at < 9; ++at)
    load(g[at / 3][at % 3], block + ((flipped ? 8 - at : at) * Lanes + from_lane) * Lanes);
}

/// Writes the rows of one block of `from`: [point][channel of from][lanes of the panel].
template <int Outputs, int Lanes>
TROIKA_INLINE void weight_panel(const WinogradPlan& plan, const BlockedWeights& weights,
                                const float* stored, Range to_blocks, std::int64_t from_block,
                                float* to) {
  constexpr int kSide = Outputs + 2;
  const std::int64_t row = to_blocks.extent() * Lanes, point = plan.from.blocks * Lanes * row;
  alignas(64) float turned[9 * Lanes * Lanes];
  for (std::int64_t at = to_blocks.begin; at < to_blocks.end; ++at) {
    const float* block = stored + at * weights.to_stride + from_block * weights.from_stride;
    if (!weights.to_last) turn_squares<Lanes>(block, turned);
    for (int lane = 0; lane < Lanes; ++lane) {
      Vector<Lanes> g[3][3], u[kSide][kSide];
      load_weights<Lanes>(weights.to_last ? block : turned, lane, weights.flipped, g);
      from_both_sides(g, u, typename WinogradPoints<Outputs>::Weight{});
      float* first = to + (from_block * Lanes + lane) * row + (at - to_blocks.begin) * Lanes;
      store_square(u, first, point);
    }
  }
}

/// Stores the part of the tile that is inside the plane.
template <int Outputs, int Lanes>
TROIKA_INLINE void store_tile(const BlockedImages& images, const float* values, TileOrigin at,
                              float* plane) {
  std::int64_t rows = std::min<std::int64_t>(Outputs, images.height - at.y),
               columns = std::min<std::int64_t>(Outputs, images.width - at.x);
  for (std::int64_t row = 0; row < rows; ++row)
    std::memcpy(plane + ((at.y + row) * images.width + at.x) * Lanes,
                values + row * Outputs * Lanes,
                static_cast<std::size_t>(columns) * Lanes * sizeof(float));
}

/// An activation of 0 may not be 0, so lanes after the last channel are cleared after it.
template <int Lanes>
TROIKA_INLINE void apply_tail(const WinogradTail& tail, std::int64_t channels, std::span<float> y) {
  if (tail.activation != nullptr) (*tail.activation)(y);
  if (channels >= Lanes) return;
  for (std::size_t at = 0; at < y.size(); at += Lanes)
    std::fill_n(y.begin() + static_cast<std::ptrdiff_t>(at) + channels, Lanes - channels, 0.0f);
}

template <int Outputs, int Lanes>
TROIKA_INLINE void output_tiles(const WinogradPlan& plan, const WinogradTail& tail,
                                const float* products, Range tiles, Range to_blocks,
                                float* output) {
  constexpr int kSide = Outputs + 2;
  const std::int64_t width = to_blocks.extent(), point = plan.product_point(width);
  for (std::int64_t block = to_blocks.begin; block < to_blocks.end; ++block) {
    std::int64_t channels = std::min<std::int64_t>(Lanes, tail.channels - block * Lanes);
    // The bias ends with the last channel; a whole vector would read beyond it.
    Vector<Lanes> bias = {};
    if (tail.bias != nullptr)
      std::memcpy(&bias, tail.bias + block * Lanes, static_cast<std::size_t>(channels) * 4);
    for (std::int64_t tile = tiles.begin; tile < tiles.end; ++tile) {
      Vector<Lanes> m[kSide][kSide], y[Outputs][Outputs];
      const float* first =
          products + ((tile - tiles.begin) * width + block - to_blocks.begin) * Lanes;
      load_square(m, first, point);
      from_both_sides(m, y, typename WinogradPoints<Outputs>::Output{});
      // Activations take floats in memory, not vectors.
      alignas(64) float values[Outputs * Outputs * Lanes];
#pragma GCC unroll 16
      for (int at = 0; at < Outputs * Outputs; ++at) {
        y[at / Outputs][at % Outputs] += bias;
        store(y[at / Outputs][at % Outputs], values + at * Lanes);
      }
      apply_tail<Lanes>(tail, channels, values);
      TileOrigin at = plan.origin(tile);
      store_tile<Outputs, Lanes>(plan.to, values, at, output + plan.to.offset(at.sample, block));
    }
  }
}

/// Elements outside the plane load as zero, so the part of a tile beyond the border adds nothing to
/// the sums.
template <int Outputs, int Lanes>
TROIKA_INLINE void gradient_tiles(const WinogradPlan& plan, const float* output, Range tiles,
                                  Range to_blocks, float* to) {
  constexpr int kSide = Outputs + 2;
  const std::int64_t width = to_blocks.extent(), point = plan.product_point(width);
  for (std::int64_t block = to_blocks.begin; block < to_blocks.end; ++block) {
    for (std::int64_t tile = tiles.begin; tile < tiles.end; ++tile) {
      TileOrigin at = plan.origin(tile);
      Vector<Lanes> y[Outputs][Outputs], d[kSide][kSide];
      load_tile(plan.to, output + plan.to.offset(at.sample, block), at.y, at.x, y);
      from_both_sides(y, d, typename WinogradPoints<Outputs>::OutputGradient{});
      store_square(d, to + ((tile - tiles.begin) * width + block - to_blocks.begin) * Lanes, point);
    }
  }
}

/// Sums are read in the order in which they are stored, [channel][lanes of the panel]. A block of
/// the weight is [3x3][lanes of from][lanes of to].
template <int Outputs, int Lanes>
TROIKA_INLINE void gradient_weights(const WinogradPlan& plan, const WinogradSums& sums,
                                    float* stored) {
  constexpr int kSide = Outputs + 2;
  const Range to_blocks = plan.blocks_of(sums.panel);
  const float* first = sums.first;
  for (std::int64_t from = sums.from_blocks.begin; from < sums.from_blocks.end; ++from) {
    for (int lane = 0; lane < Lanes; ++lane) {
      for (std::int64_t block = to_blocks.begin; block < to_blocks.end; ++block, first += Lanes) {
        Vector<Lanes> u[kSide][kSide], g[3][3];
        load_square(u, first, sums.point);
        from_both_sides(u, g, typename WinogradPoints<Outputs>::WeightGradient{});
        store_square(g, stored + ((block * plan.from.blocks + from) * 9 * Lanes + lane) * Lanes,
                     Lanes * Lanes);
      }
    }
  }
}

}  // namespace

void transform_image(const WinogradPlan& plan, const float* image, Range tiles, float* to) {
  dispatch(plan, [&]<int Outputs, int Lanes>(TileKind<Outputs, Lanes>) {
    image_tiles<Outputs, Lanes>(plan, image, tiles, to);
  });
}

void transform_weights(const WinogradPlan& plan, const BlockedWeights& weights, const float* stored,
                       std::int64_t panel, std::int64_t from_block, float* to) {
  dispatch(plan, [&]<int Outputs, int Lanes>(TileKind<Outputs, Lanes>) {
    weight_panel<Outputs, Lanes>(plan, weights, stored, plan.blocks_of(panel), from_block, to);
  });
}

void finish_output(const WinogradPlan& plan, const WinogradTail& tail, const float* products,
                   Range tiles, std::int64_t panel, float* output) {
  dispatch(plan, [&]<int Outputs, int Lanes>(TileKind<Outputs, Lanes>) {
    output_tiles<Outputs, Lanes>(plan, tail, products, tiles, plan.blocks_of(panel), output);
  });
}

void transform_output(const WinogradPlan& plan, const float* output, Range tiles,
                      std::int64_t panel, float* to) {
  dispatch(plan, [&]<int Outputs, int Lanes>(TileKind<Outputs, Lanes>) {
    gradient_tiles<Outputs, Lanes>(plan, output, tiles, plan.blocks_of(panel), to);
  });
}

void finish_weights(const WinogradPlan& plan, const WinogradSums& sums, float* stored) {
  dispatch(plan, [&]<int Outputs, int Lanes>(TileKind<Outputs, Lanes>) {
    gradient_weights<Outputs, Lanes>(plan, sums, stored);
  });
}

}  // namespace troika
