// Forward pooling, one row of y at a time. Lanes are channels, so a window is reduced lane by lane.
#include "kernels/cpu/pool2d.h"

#include <algorithm>

#include "kernels/cpu/offers.h"
#include "kernels/cpu/pooling_lanes.h"
#include "kernels/cpu/streaming.h"

namespace troika {
namespace {

/// One window: its first pixel, the strides of pixels and rows, and its extents.
struct PooledWindow {
  const float* corner;
  std::int64_t step, row_step, rows, columns;
};

/// Columns is the number of columns, or 0 if it is not a constant.
template <int Columns, bool Max, class Lanes>
TROIKA_INLINE void reduce(const Lanes& lanes, const PooledWindow& window, typename Lanes::V& kept) {
  std::int64_t columns = Columns > 0 ? Columns : window.columns;
  for (std::int64_t row = 0; row < window.rows; ++row) {
    const float* from = window.corner + row * window.row_step;
#pragma GCC unroll 3
    for (std::int64_t column = 0; column < columns; ++column) {
      typename Lanes::V value;
      lanes.get(value, from + column * window.step);
      if constexpr (Max)
        kept = value > kept ? value : kept;
      else
        kept += value;
    }
  }
}

/// One row of y, some lanes of it; x is the image.
template <int Columns, bool Max, class Lanes>
TROIKA_VECTORIZED void forward_row(const Pooling& p, const Lanes& lanes, std::int64_t tiles,
                                   std::int64_t h, const float* x, float* y) {
  std::int64_t step = p.x.lanes, row_step = p.in[1] * step;
  Seen rows = p.seen(0, h);
  for (std::int64_t w = 0; w < p.out[1]; ++w) {
    Seen columns = p.seen(1, w);
    PooledWindow window{x + rows.begin * row_step + columns.begin * step, step, row_step,
                        rows.end - rows.begin, columns.end - columns.begin};
    float factor = Max ? 1.0f : p.factor(rows, columns), *to = y + w * p.y.lanes;
    for (std::int64_t lane = 0; lane < lanes_end<Lanes>(tiles);
         lane += 16, window.corner += 16, to += 16) {
      typename Lanes::V kept{};
      // Starts with an element of the window rather than with a constant below all numbers.
      if constexpr (Max) lanes.get(kept, window.corner);
      if (Columns > 0 && window.columns == Columns)
        reduce<Columns, Max>(lanes, window, kept);
      else
        reduce<0, Max>(lanes, window, kept);
      if constexpr (!Max) kept *= factor;
      lanes.put(kept, to);
    }
  }
}

/// `streamed`: buffer of a row that is then written by non-temporal stores, or null.
void forward_unit(const Pooling& p, const PoolingUnit& unit, const float* x, float* y,
                  float* streamed) {
  std::int64_t length = p.out[1] * p.y.lanes;
  for (std::int64_t h = 0; h < p.out[0]; ++h) {
    float *row = y + unit.y + h * length, *to = streamed != nullptr ? streamed : row;
    for_lanes(unit.width, p.window[1], [&]<int Columns>(const auto& lanes, const LaneTiles& at) {
      const float* image = x + unit.x + at.offset;
      p.kind == PoolKind::max
          ? forward_row<Columns, true>(p, lanes, at.tiles, h, image, to + at.offset)
          : forward_row<Columns, false>(p, lanes, at.tiles, h, image, to + at.offset);
    });
    if (streamed != nullptr) stream_copy(row, streamed, length);
  }
}

std::int64_t row_floats(const Pooling& p) { return (p.out[1] * p.y.lanes + 15) / 16 * 16; }

}  // namespace

PoolingUnits::PoolingUnits(const Pooling& p, int threads)
    : x_(p.x), y_(p.y), images_(p.x.outer * p.x.blocks), width_(p.x.lanes) {
  // In whole vectors: narrower units would only leave lanes idle.
  while (images_ * ((x_.lanes + width_ - 1) / width_) < threads && width_ > 16)
    width_ = (width_ / 2 + 15) / 16 * 16;
  per_image_ = (x_.lanes + width_ - 1) / width_;
}

PoolingUnit PoolingUnits::at(std::int64_t unit) const {
  std::int64_t image = unit / per_image_, lane = unit % per_image_ * width_;
  return {image * x_.inner * x_.lanes + lane, image * y_.inner * y_.lanes + lane,
          std::min(width_, x_.lanes - lane)};
}

Loop pooling_forward(const Pooling& p) {
  return [p](const Launch& launch) {
    const float* x = launch.at(0);
    float* y = launch.at(1);
    PoolingUnits units(p, launch.threads);
    bool small = p.x.elements() < kSmallLoop;
    int parts = small ? 1 : launch.threads;
    // One iteration per thread. The length only tells for_rows that this is not a small loop.
    for_rows(parts, parts, kSmallLoop, [&](std::int64_t part) {
      Range own = part_of(units.count(), part, parts);
      float* row = launch.work() + part * row_floats(p);
      for (std::int64_t at = own.begin; at < own.end; ++at) {
        PoolingUnit unit = units.at(at);
        // Rows of y are contiguous only if the unit has all lanes.
        bool streamed = p.y.elements() >= kStreamed && unit.width == p.y.lanes;
        forward_unit(p, unit, x, y, streamed ? row : nullptr);
      }
      stream_end();
    });
  };
}

Bytes pooling_forward_work(const Pooling& p, int threads) { return {4 * row_floats(p) * threads}; }

Offers offers(const Pool2d& op, const Request& request) {
  const Shape &x = request.signature.slots[0].spec.shape,
              &y = request.signature.slots[1].spec.shape;
  Offers list;
  for (Layout layout :
       {Layout::blocked16, Layout::channels_last, Layout::plain, Layout::blocked8}) {
    Pooling pooling{.kind = op.kind,
                    .window = op.window,
                    .stride = op.stride,
                    .pad = op.pad,
                    .in = {x[2], x[3]},
                    .out = {y[2], y[3]},
                    .include_padding = op.include_padding,
                    .x = image_view(x, layout),
                    .y = image_view(y, layout)};
    bool is_forward = request.key.phase == Phase::forward;
    if (!is_forward && !pooling_gathers(pooling)) return {};
    int threads = request.context.threads;
    Candidate candidate{.algorithm = "loop",
                        .layouts = std::vector(request.operands.size(), layout),
                        .scratch = is_forward ? pooling_forward_work(pooling, threads)
                                              : pooling_backward_work(pooling, threads)};
    list.push_back(offer_loop(request, candidate,
                              is_forward ? pooling_forward(pooling) : pooling_backward(pooling)));
  }
  return list;
}

}  // namespace troika
