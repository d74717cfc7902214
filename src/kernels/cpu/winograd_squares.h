// Squares of vectors, the tiles of all Winograd transforms: how they are read and written.
#pragma once

#include <type_traits>

#include "kernels/cpu/winograd_plan.h"
#include "kernels/cpu/winograd_points.h"

namespace troika {

template <int Outputs, int Lanes>
struct TileKind {};

/// Calls f with the plan's TileKind, compiled for its lanes.
template <class F>
void dispatch(const WinogradPlan& plan, const F& f) {
  auto call = [&]<int Lanes>(std::integral_constant<int, Lanes>) {
    if (plan.outputs == 4)
      call_with_lanes<Lanes>([&] { f(TileKind<4, Lanes>{}); });
    else
      call_with_lanes<Lanes>([&] { f(TileKind<2, Lanes>{}); });
  };
  if (plan.lanes() == 16)
    call(std::integral_constant<int, 16>{});
  else
    call(std::integral_constant<int, 8>{});
}

/// Vectors that are `point` elements apart.
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

/// A square of vectors whose first element is at (y, x) of the plane; zero outside of it.
template <int Side, class V>
TROIKA_INLINE void load_tile(const BlockedImages& images, const float* plane, std::int64_t y,
                             std::int64_t x, V (&tile)[Side][Side]) {
  const std::int64_t lanes = sizeof(V) / sizeof(float);
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

}  // namespace troika
