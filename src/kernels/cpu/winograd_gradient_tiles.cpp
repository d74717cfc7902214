#include "kernels/cpu/winograd_squares.h"
#include "kernels/cpu/winograd_tiles.h"

namespace troika {
namespace {

template <int Outputs, int Lanes>
TROIKA_INLINE void gradient_tiles(const WinogradPlan& plan, const float* places, Range tiles,
                                  Range to_blocks, float* to) {
  constexpr int kSide = Outputs + 2;
  const std::int64_t width = to_blocks.extent(), point = plan.product_point(width);
  for (std::int64_t block = to_blocks.begin; block < to_blocks.end; ++block) {
    for (std::int64_t tile = tiles.begin; tile < tiles.end; ++tile) {
      TilePlace at(plan, tile);
      Vector<Lanes> y[Outputs][Outputs], d[kSide][kSide];
      load_tile(plan.to, places + plan.to.offset(at.sample, block), at.y, at.x, y);
      from_both_sides(y, d, typename WinogradPoints<Outputs>::PlacesGradient{});
      store_square(d, to + ((tile - tiles.begin) * width + block - to_blocks.begin) * Lanes, point);
    }
  }
}

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

void transform_places(const WinogradPlan& plan, const float* places, Range tiles,
                      std::int64_t panel, float* to) {
  dispatch(plan, [&]<int Outputs, int Lanes>(TileKind<Outputs, Lanes>) {
    gradient_tiles<Outputs, Lanes>(plan, places, tiles, plan.blocks_of(panel), to);
  });
}

void finish_weights(const WinogradPlan& plan, const WinogradSums& sums, float* stored) {
  dispatch(plan, [&]<int Outputs, int Lanes>(TileKind<Outputs, Lanes>) {
    gradient_weights<Outputs, Lanes>(plan, sums, stored);
  });
}

}  // namespace troika
