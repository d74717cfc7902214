// How a pooling loop reads and writes the lanes of one pixel: as one vector, or a part of it.
#pragma once

#include "kernels/cpu/vector_lanes.h"

namespace troika {

template <int Lanes>
struct WholeLanes {
  using V = Vector<Lanes>;
  typedef std::int32_t Places __attribute__((vector_size(Lanes * sizeof(std::int32_t))));

  TROIKA_INLINE void get(V& vector, const float* from) const { load(vector, from); }
  TROIKA_INLINE void put(const V& vector, float* to) const { store(vector, to); }
};

/// Fewer than 16.
struct PartOfLanes {
  using V = Vector<16>;
  using Places = WholeLanes<16>::Places;
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

/// Calls f(lanes, window columns, offset) for the lanes of a unit, 16 at a time where there are so
/// many; the columns are a constant where they are usual ones.
template <class F>
void for_lanes(std::int64_t width, std::int64_t columns, const F& f) {
  std::int64_t lane = 0;
  for (; lane + 16 <= width; lane += 16) {
    if (columns == 2)
      f.template operator()<2>(WholeLanes<16>(), lane);
    else if (columns == 3)
      f.template operator()<3>(WholeLanes<16>(), lane);
    else
      f.template operator()<0>(WholeLanes<16>(), lane);
  }
  if (lane == width) return;
  if (width - lane == 8)
    f.template operator()<0>(WholeLanes<8>(), lane);
  else if (width - lane == 1)
    f.template operator()<0>(WholeLanes<1>(), lane);
  else
    f.template operator()<0>(PartOfLanes{width - lane}, lane);
}

}  // namespace troika
