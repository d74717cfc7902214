// Ways in which a pooling loop reads and writes the lanes of one pixel: as vectors, as a part of a
// vector, or one by one.
#pragma once

#include "kernels/cpu/vector_lanes.h"

namespace troika {

/// Many: a pixel has several tiles of Lanes lanes; otherwise one, which saves an inner loop.
template <int Lanes, bool Many = false>
struct WholeLanes {
  static constexpr bool kMany = Many;
  using V = Vector<Lanes>;
  typedef std::int32_t Indices __attribute__((vector_size(Lanes * sizeof(std::int32_t))));

  TROIKA_INLINE void get(V& vector, const float* from) const { load(vector, from); }
  TROIKA_INLINE void put(const V& vector, float* to) const { store(vector, to); }
};

/// Neighbouring columns belong to one channel, so there are no vectors.
struct OneLane {
  static constexpr bool kMany = false;
  using V = float;
  using Indices = std::int32_t;

  TROIKA_INLINE void get(V& value, const float* from) const { value = *from; }
  TROIKA_INLINE void put(const V& value, float* to) const { *to = value; }
};

/// Fewer than 16.
struct PartOfLanes {
  static constexpr bool kMany = false;
  using V = Vector<16>;
  using Indices = WholeLanes<16>::Indices;
  std::int64_t lanes;

  TROIKA_INLINE void get(V& vector, const float* from) const {
    float values[16] = {};
    for (std::int64_t lane = 0; lane < lanes; ++lane) values[lane] = from[lane];
    load(vector, values);
  }
  TROIKA_INLINE void put(const V& vector, float* to) const {
    float values[16];
    store(vector, values);
    for (std::int64_t lane = 0; lane < lanes; ++lane) to[lane] = values[lane];
  }
};

/// The end of a loop over the tiles of a pixel.
template <class Lanes>
TROIKA_INLINE std::int64_t lanes_end(std::int64_t tiles) {
  return Lanes::kMany ? tiles * 16 : 16;
}

/// Some lanes of every pixel: `tiles` times the lanes of a vector, from `offset` on.
struct LaneTiles {
  std::int64_t offset, tiles;
};

/// Calls f(lanes, tiles) with the columns of a window as a constant where they are usual ones, else
/// 0.
template <class Lanes, class F>
void with_columns(const Lanes& lanes, std::int64_t columns, const LaneTiles& tiles, const F& f) {
  if (columns == 2)
    f.template operator()<2>(lanes, tiles);
  else if (columns == 3)
    f.template operator()<3>(lanes, tiles);
  else
    f.template operator()<0>(lanes, tiles);
}

/// The same for all lanes of a unit: whole vectors of 16, then the rest.
template <class F>
void for_lanes(std::int64_t width, std::int64_t columns, const F& f) {
  LaneTiles whole{0, width / 16}, rest{width / 16 * 16, 1};
  if (whole.tiles > 1) with_columns(WholeLanes<16, true>(), columns, whole, f);
  if (whole.tiles == 1) with_columns(WholeLanes<16>(), columns, whole, f);
  if (rest.offset == width) return;
  if (width - rest.offset == 8)
    with_columns(WholeLanes<8>(), columns, rest, f);
  else if (width == 1)
    with_columns(OneLane(), columns, rest, f);
  else
    f.template operator()<0>(PartOfLanes{width - rest.offset}, rest);
}

}  // namespace troika
