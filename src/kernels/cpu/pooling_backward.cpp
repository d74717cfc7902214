#include <algorithm>

#include "kernels/cpu/pooling.h"
#include "kernels/cpu/pooling_lanes.h"
#include "kernels/cpu/streaming.h"

namespace troika {
namespace {

/// Rows of dx that windows still add to: as many as a window has, each written to dx when no later
/// window sees it.
class OpenRows {
 public:
  OpenRows(const Pooling& p, const PoolingUnit& unit, float* dx, float* work)
      : p_(p), unit_(unit), dx_(dx), work_(work) {}

  static std::int64_t floats(const Pooling& p) { return (length(p) + 15) / 16 * 16 * p.window[0]; }

  float* at(std::int64_t row) const {
    return work_ + row % p_.window[0] * ((length(p_) + 15) / 16 * 16);
  }

  /// Zeros in all rows before `end` that had none yet.
  void open(std::int64_t end) {
    for (; opened_ < end; ++opened_) {
      float* row = at(opened_);
      run_range(0, length(p_), [row](std::int64_t i) { row[i] = 0; });
    }
  }

  /// Writes all rows before `end`.
  void close(std::int64_t end) {
    for (; closed_ < end; ++closed_) {
      if (closed_ == opened_) open(closed_ + 1);
      write(closed_);
    }
  }

 private:
  static std::int64_t length(const Pooling& p) { return p.in[1] * p.x.lanes; }

  void write(std::int64_t row) const {
    const float* from = at(row);
    float* to = dx_ + unit_.x + row * length(p_);
    if (unit_.width < p_.x.lanes) {
      for (std::int64_t at = 0; at < length(p_); at += p_.x.lanes)
        std::copy_n(from + at, unit_.width, to + at);
    } else if (p_.x.elements() >= kStreamed) {
      stream_copy(to, from, length(p_));
    } else {
      std::copy_n(from, length(p_), to);
    }
  }

  const Pooling& p_;
  const PoolingUnit& unit_;
  float *dx_, *work_;
  std::int64_t opened_ = 0, closed_ = 0;
};

/// The rows of one window: of the image, and open ones of dx.
struct WindowRows {
  Seen rows;
  const float* x;
  const OpenRows& dx;
};

/// First the place of the first largest element of each lane, then dy is added there.
template <int Columns, class Lanes>
TROIKA_INLINE void max_window(const Pooling& p, const Lanes& lanes, const WindowRows& window,
                              Seen columns, std::int64_t lane, const typename Lanes::V& dy) {
  std::int64_t step = p.x.lanes, count = Columns > 0 ? Columns : columns.end - columns.begin;
  typename Lanes::V largest, value;
  typename Lanes::Places found{};
  std::int32_t at = 0;
  lanes.get(largest, window.x + (window.rows.begin * p.in[1] + columns.begin) * step + lane);
  for (std::int64_t row = window.rows.begin; row < window.rows.end; ++row) {
    const float* from = window.x + (row * p.in[1] + columns.begin) * step + lane;
#pragma GCC unroll 3
    for (std::int64_t column = 0; column < count; ++column, ++at) {
      lanes.get(value, from + column * step);
      found = value > largest ? typename Lanes::Places{} + at : found;
      largest = value > largest ? value : largest;
    }
  }
  at = 0;
  for (std::int64_t row = window.rows.begin; row < window.rows.end; ++row) {
    float* to = window.dx.at(row) + columns.begin * step + lane;
#pragma GCC unroll 3
    for (std::int64_t column = 0; column < count; ++column, ++at) {
      lanes.get(value, to + column * step);
      value += found == at ? dy : typename Lanes::V{};
      lanes.put(value, to + column * step);
    }
  }
}

template <int Columns, class Lanes>
TROIKA_INLINE void average_window(const Pooling& p, const Lanes& lanes, const WindowRows& window,
                                  Seen columns, std::int64_t lane, const typename Lanes::V& dy) {
  std::int64_t step = p.x.lanes, count = Columns > 0 ? Columns : columns.end - columns.begin;
  typename Lanes::V share = dy * p.factor(window.rows, columns), value;
  for (std::int64_t row = window.rows.begin; row < window.rows.end; ++row) {
    float* to = window.dx.at(row) + columns.begin * step + lane;
#pragma GCC unroll 3
    for (std::int64_t column = 0; column < count; ++column) {
      lanes.get(value, to + column * step);
      value += share;
      lanes.put(value, to + column * step);
    }
  }
}

/// One row of dy, some lanes of it.
template <int Columns, bool Max, class Lanes>
TROIKA_VECTORIZED void backward_row(const Pooling& p, const Lanes& lanes, const WindowRows& window,
                                    std::int64_t lane, const float* dy) {
  for (std::int64_t w = 0; w < p.out[1]; ++w) {
    Seen columns = p.seen(1, w);
    bool whole = Columns > 0 && columns.end - columns.begin == Columns;
    typename Lanes::V arriving;
    lanes.get(arriving, dy + w * p.y.lanes + lane);
    if constexpr (Max) {
      whole ? max_window<Columns>(p, lanes, window, columns, lane, arriving)
            : max_window<0>(p, lanes, window, columns, lane, arriving);
    } else {
      whole ? average_window<Columns>(p, lanes, window, columns, lane, arriving)
            : average_window<0>(p, lanes, window, columns, lane, arriving);
    }
  }
}

void backward_unit(const Pooling& p, const PoolingUnit& unit, const float* x, const float* dy,
                   OpenRows& dx) {
  for (std::int64_t h = 0; h < p.out[0]; ++h) {
    WindowRows window{p.seen(0, h), x + (p.kind == PoolKind::max ? unit.x : 0), dx};
    const float* from = dy + unit.y + h * p.out[1] * p.y.lanes;
    dx.close(window.rows.begin);
    dx.open(window.rows.end);
    for_lanes(unit.width, p.window[1], [&]<int Columns>(const auto& lanes, std::int64_t lane) {
      p.kind == PoolKind::max ? backward_row<Columns, true>(p, lanes, window, lane, from)
                              : backward_row<Columns, false>(p, lanes, window, lane, from);
    });
  }
  dx.close(p.in[0]);
}

}  // namespace

Loop pooling_backward(const Pooling& p) {
  return [p](const Launch& launch) {
    bool max = p.kind == PoolKind::max;
    const float *x = max ? launch.at(0) : nullptr, *dy = launch.at(max ? 1 : 0);
    float* dx = launch.at(max ? 2 : 1);
    PoolingUnits units(p, launch.threads);
    int parts = p.x.elements() < kSmallLoop ? 1 : launch.threads;
    for_rows(parts, parts, kSmallLoop, [&](std::int64_t part) {
      Range own = part_of(units.count(), part, parts);
      for (std::int64_t at = own.begin; at < own.end; ++at) {
        PoolingUnit unit = units.at(at);
        OpenRows rows(p, unit, dx, launch.work() + part * OpenRows::floats(p));
        backward_unit(p, unit, x, dy, rows);
      }
      stream_end();
    });
  };
}

Bytes pooling_backward_work(const Pooling& p, int threads) {
  return {4 * OpenRows::floats(p) * threads};
}

}  // namespace troika
