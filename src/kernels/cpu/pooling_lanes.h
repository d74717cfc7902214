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

/// Neighbouring columns belong to one channel: no vectors here.
struct OneLane {
  using V = float;
  using Places = std::int32_t;

  TROIKA_INLINE void get(V& value, const float* from) const { value = *from; }
  TROIKA_INLINE void put(const V& value, float* to) const { *to = value; }
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

/// Calls f(lanes, offset) with the columns of a window as a constant where they are usual ones,
/// else 0.
template <class Lanes, class F>
void with_columns(const Lanes& lanes, std::int64_t columns, std::int64_t offset, const F& f) {
  if (columns == 2)
    f.template operator()<2>(lanes, offset);
  else if (columns == 3)
    f.template operator()<3>(lanes, offset);
  else
    f.template operator()<0>(lanes, offset);
}

/// The same for all lanes of a unit, 16 at a time where there are so many.
template <class F>
void for_lanes(std::int64_t width, std::int64_t columns, const F& f) {
  std::int64_t lane = 0;
  for (; lane + 16 <= width; lane += 16) with_columns(WholeLanes<16>(), columns, lane, f);
  if (lane == width) return;
  if (width - lane == 8)
    with_columns(WholeLanes<8>(), columns, lane, f);
  else if (width == 1)
    with_columns(OneLane(), columns, lane, f);
  else
    f.template operator()<0>(PartOfLanes{width - lane}, lane);
}

}  // namespace troika
