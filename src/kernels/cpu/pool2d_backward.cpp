// Backward pooling gathers: each element of dx sums over the windows that cover it. So dx is
// written once and in order, and need not be cleared.
#include <algorithm>
#include <cstring>

#include "kernels/cpu/pool2d.h"
#include "kernels/cpu/pooling_lanes.h"
#include "kernels/cpu/streaming.h"

namespace troika {
namespace {

/// The positions [begin, end) of the window, along one dimension, that cover an element. Elements
/// must be visited in ascending order.
class Seeing {
 public:
  Seeing(const Pooling& p, std::size_t dim)
      : window_(p.window[dim]), stride_(p.stride[dim]), pad_(p.pad[dim]), count_(p.out[dim]) {}

  TROIKA_INLINE void move_to(std::int64_t element) {
    std::int64_t at = element + pad_;
    while (end < count_ && end * stride_ <= at) ++end;
    while (begin < end && begin * stride_ + window_ <= at) ++begin;
  }
  /// The index of the element inside the window at `window_at`.
  TROIKA_INLINE std::int64_t inside(std::int64_t element, std::int64_t window_at) const {
    return element + pad_ - window_at * stride_;
  }

  std::int64_t begin = 0, end = 0;

 private:
  std::int64_t window_, stride_, pad_, count_;
};

/// What dx needs of the last rows of windows: for the largest, the index inside the window of its
/// first occurrence; for the average, the share of each element. A ring of window[0] rows: a row of
/// dx is covered by at most as many rows of windows, which are consecutive.
class KeptRows {
 public:
  KeptRows(const Pooling& p, float* work) : p_(p), work_(work) {}
  static std::int64_t floats(const Pooling& p) { return p.window[0] * length(p); }

  TROIKA_INLINE float* at(std::int64_t h) const { return work_ + h % p_.window[0] * length(p_); }

 private:
  static std::int64_t length(const Pooling& p) { return (p.out[1] * p.y.lanes + 15) / 16 * 16; }
  const Pooling& p_;
  float* work_;
};

/// Finds the first largest element of a window. Its index counts clipped elements too.
template <int Columns, class Lanes>
TROIKA_INLINE void find_largest(const Pooling& p, const Lanes& lanes, const float* x, Seen rows,
                                Seen columns, std::int64_t first, typename Lanes::Indices& found) {
  std::int64_t step = p.x.lanes, count = Columns > 0 ? Columns : columns.end - columns.begin;
  typename Lanes::V largest, value;
  lanes.get(largest, x + (rows.begin * p.in[1] + columns.begin) * step);
  found = typename Lanes::Indices{} + static_cast<std::int32_t>(first);
  for (std::int64_t row = rows.begin; row < rows.end; ++row) {
    const float* from = x + (row * p.in[1] + columns.begin) * step;
    auto at = static_cast<std::int32_t>(first + (row - rows.begin) * p.window[1]);
#pragma GCC unroll 3
    for (std::int64_t column = 0; column < count; ++column, ++at) {
      lanes.get(value, from + column * step);
      found = value > largest ? typename Lanes::Indices{} + at : found;
      largest = value > largest ? value : largest;
    }
  }
}

template <int Columns, class Lanes>
TROIKA_VECTORIZED void keep_indices(const Pooling& p, const Lanes& lanes, std::int64_t tiles,
                                    std::int64_t h, const float* x, float* kept) {
  Seen rows = p.seen(0, h);
  std::int64_t above = rows.begin - (h * p.stride[0] - p.pad[0]);
  for (std::int64_t w = 0; w < p.out[1]; ++w) {
    Seen columns = p.seen(1, w);
    std::int64_t before = columns.begin - (w * p.stride[1] - p.pad[1]),
                 first = above * p.window[1] + before;
    for (std::int64_t lane = 0; lane < lanes_end<Lanes>(tiles); lane += 16) {
      typename Lanes::Indices found;
      if (Columns > 0 && columns.end - columns.begin == Columns)
        find_largest<Columns>(p, lanes, x + lane, rows, columns, first, found);
      else
        find_largest<0>(p, lanes, x + lane, rows, columns, first, found);
      // Indices are kept as the bits of floats, so that both kinds of pooling share one buffer.
      typename Lanes::V bits;
      std::memcpy(&bits, &found, sizeof bits);
      lanes.put(bits, kept + w * p.y.lanes + lane);
    }
  }
}

template <class Lanes>
TROIKA_VECTORIZED void keep_shares(const Pooling& p, const Lanes& lanes, std::int64_t tiles,
                                   std::int64_t h, const float* dy, float* kept) {
  Seen rows = p.seen(0, h);
  for (std::int64_t w = 0; w < p.out[1]; ++w) {
    float factor = p.factor(rows, p.seen(1, w));
    for (std::int64_t lane = 0; lane < lanes_end<Lanes>(tiles); lane += 16) {
      typename Lanes::V value;
      lanes.get(value, dy + (h * p.out[1] + w) * p.y.lanes + lane);
      value *= factor;
      lanes.put(value, kept + w * p.y.lanes + lane);
    }
  }
}

/// One row of windows as a row of dx sees it, some lanes of it.
struct Tap {
  const float *kept, *dy;
  std::int32_t first;  ///< Number, inside the window, of the first element in this row of dx.
};

/// Most rows of windows that may cover one row of dx.
constexpr std::int64_t kMostTaps = 16;

struct Taps {
  std::int64_t tiles;  ///< Of lanes.
  Tap list[kMostTaps] = {};
  std::int64_t count = 0;
};

/// Adds the contribution of one window to its element `at`.
template <bool Max, class Lanes>
TROIKA_INLINE void add_share(const Lanes& lanes, const Tap& tap, std::int64_t offset,
                             std::int32_t at, typename Lanes::V& sum) {
  typename Lanes::V kept, share;
  lanes.get(kept, tap.kept + offset);
  if constexpr (Max) {
    typename Lanes::Indices indices;
    std::memcpy(&indices, &kept, sizeof indices);
    lanes.get(share, tap.dy + offset);
    sum += indices == tap.first + at ? share : typename Lanes::V{};
  } else {
    sum += kept;
  }
}

/// Elements [begin, end) of a row of dx.
template <bool Max, class Lanes>
TROIKA_INLINE void gather_any(const Pooling& p, const Lanes& lanes, const Taps& taps, Seen elements,
                              float* dx) {
  Seeing columns(p, 1);
  for (std::int64_t c = elements.begin; c < elements.end; ++c) {
    columns.move_to(c);
    for (std::int64_t lane = 0; lane < lanes_end<Lanes>(taps.tiles); lane += 16) {
      typename Lanes::V sum{};
      for (std::int64_t tap = 0; tap < taps.count; ++tap)
        for (std::int64_t w = columns.begin; w < columns.end; ++w)
          add_share<Max>(lanes, taps.list[tap], w * p.y.lanes + lane,
                         static_cast<std::int32_t>(columns.inside(c, w)), sum);
      lanes.put(sum, dx + c * p.x.lanes + lane);
    }
  }
}

/// All elements whose windows are whole: `Stride` neighbours for each of the window positions
/// [begin, end), with windows of `Columns` columns. Element w * Stride - pad + i, with i < Stride,
/// is covered by the windows w, w - 1 and so on, in their columns i, i + Stride and so on: column c
/// belongs to window w - c / Stride.
template <int Columns, int Stride, bool Max, class Lanes>
TROIKA_INLINE void gather_whole(const Pooling& p, const Lanes& lanes, const Taps& taps,
                                Seen windows, float* dx) {
  std::int64_t y_step = p.y.lanes, x_step = p.x.lanes, count = taps.count, tiles = taps.tiles;
  float* to = dx + (windows.begin * Stride - p.pad[1]) * x_step;
  for (std::int64_t window_at = windows.begin; window_at < windows.end;
       ++window_at, to += Stride * x_step) {
    for (std::int64_t lane = 0; lane < lanes_end<Lanes>(tiles); lane += 16) {
      typename Lanes::V sums[Stride] = {};
      for (std::int64_t tap = 0; tap < count; ++tap) {
#pragma GCC unroll 3
        for (int column = 0; column < Columns; ++column)
          add_share<Max>(lanes, taps.list[tap], (window_at - column / Stride) * y_step + lane,
                         column, sums[column % Stride]);
      }
#pragma GCC unroll 3
      for (int at = 0; at < Stride; ++at) lanes.put(sums[at], to + at * x_step + lane);
    }
  }
}

/// A row of dx, gathered from the windows that see it.
template <int Columns, int Stride, bool Max, class Lanes>
TROIKA_VECTORIZED void gather_row(const Pooling& p, const Lanes& lanes, const Taps& taps,
                                  float* dx) {
  Seen edges[2] = {{0, p.in[1]}, {0, 0}};
  if constexpr (Columns > 0 && Stride > 0) {
    std::int64_t pad = p.pad[1];
    // The first w with all those windows and no element before the row; the last one likewise.
    Seen windows{std::max<std::int64_t>((Columns - 1) / Stride, (pad + Stride - 1) / Stride),
                 std::min(p.out[1], (p.in[1] + pad) / Stride)};
    if (windows.begin < windows.end) {
      edges[0].end = windows.begin * Stride - pad;
      edges[1] = {windows.end * Stride - pad, p.in[1]};
      gather_whole<Columns, Stride, Max>(p, lanes, taps, windows, dx);
    }
  }
  for (const Seen& edge : edges) gather_any<Max>(p, lanes, taps, edge, dx);
}

template <int Columns, bool Max, class Lanes>
void gather_lanes(const Pooling& p, const Lanes& lanes, const Taps& taps, float* dx) {
  if (Columns > 0 && p.stride[1] == 1)
    gather_row<Columns, 1, Max>(p, lanes, taps, dx);
  else if (Columns > 0 && p.stride[1] == 2)
    gather_row<Columns, 2, Max>(p, lanes, taps, dx);
  else
    gather_row<0, 0, Max>(p, lanes, taps, dx);
}

/// Computes one kept row for all lanes of the unit.
void keep_row(const Pooling& p, const PoolingUnit& unit, std::int64_t h, const float* x,
              const float* dy, float* kept) {
  for_lanes(unit.width, p.window[1], [&]<int Columns>(const auto& lanes, const LaneTiles& at) {
    p.kind == PoolKind::max
        ? keep_indices<Columns>(p, lanes, at.tiles, h, x + unit.x + at.offset, kept + at.offset)
        : keep_shares(p, lanes, at.tiles, h, dy + unit.y + at.offset, kept + at.offset);
  });
}

/// `streamed`: buffer of a row that is then written by non-temporal stores, or null.
void backward_unit(const Pooling& p, const PoolingUnit& unit, const Launch& launch,
                   const KeptRows& kept, float* streamed) {
  bool max = p.kind == PoolKind::max;
  const float *x = max ? launch.at(0) : nullptr, *dy = launch.at(max ? 1 : 0);
  std::int64_t length = p.in[1] * p.x.lanes, y_length = p.out[1] * p.y.lanes, done = 0;
  Seeing rows(p, 0);
  for (std::int64_t r = 0; r < p.in[0]; ++r) {
    float *row = launch.at(max ? 2 : 1) + unit.x + r * length,
          *to = streamed != nullptr ? streamed : row;
    rows.move_to(r);
    // Each row of windows is searched once, when the first row of dx needs it.
    for (; done < rows.end; ++done) keep_row(p, unit, done, x, dy, kept.at(done));
    for_lanes(unit.width, p.window[1], [&]<int Columns>(const auto& lanes, const LaneTiles& at) {
      Taps taps{at.tiles};
      for (std::int64_t h = rows.begin; h < rows.end; ++h)
        taps.list[taps.count++] = {kept.at(h) + at.offset, dy + unit.y + h * y_length + at.offset,
                                   static_cast<std::int32_t>(rows.inside(r, h) * p.window[1])};
      max ? gather_lanes<Columns, true>(p, lanes, taps, to + at.offset)
          : gather_lanes<Columns, false>(p, lanes, taps, to + at.offset);
    });
    if (streamed != nullptr) stream_copy(row, streamed, length);
  }
}

std::int64_t input_row_floats(const Pooling& p) { return (p.in[1] * p.x.lanes + 15) / 16 * 16; }
std::int64_t work_floats(const Pooling& p) { return KeptRows::floats(p) + input_row_floats(p); }

}  // namespace

Loop pooling_backward(const Pooling& p) {
  return [p](const Launch& launch) {
    PoolingUnits units(p, launch.threads);
    int parts = p.x.elements() < kSmallLoop ? 1 : launch.threads;
    for_rows(parts, parts, kSmallLoop, [&](std::int64_t part) {
      Range own = part_of(units.count(), part, parts);
      float* work = launch.work() + part * work_floats(p);
      KeptRows kept(p, work);
      for (std::int64_t at = own.begin; at < own.end; ++at) {
        PoolingUnit unit = units.at(at);
        bool streamed = p.x.elements() >= kStreamed && unit.width == p.x.lanes;
        backward_unit(p, unit, launch, kept, streamed ? work + KeptRows::floats(p) : nullptr);
      }
      stream_end();
    });
  };
}

bool pooling_gathers(const Pooling& p) {
  return (p.window[0] + p.stride[0] - 1) / p.stride[0] <= kMostTaps;
}

Bytes pooling_backward_work(const Pooling& p, int threads) {
  return {4 * work_floats(p) * threads};
}

}  // namespace troika
