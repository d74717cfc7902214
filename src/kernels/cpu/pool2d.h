// Pooling windows over images whose channels are vector lanes (ChannelView).
#pragma once

#include <array>

#include "kernels/cpu/channel_view.h"
#include "kernels/cpu/offers.h"
#include "ops/pool2d.h"

namespace troika {

/// The elements of x that one position of the window covers along a dimension.
struct Seen {
  std::int64_t begin, end;
};

struct Pooling {
  PoolKind kind;
  std::array<std::int64_t, 2> window, stride, pad;
  std::array<std::int64_t, 2> in, out;  ///< Rows and columns.
  bool include_padding = false;
  ChannelView x, y;

  Seen seen(std::size_t dim, std::int64_t window_at) const {
    std::int64_t begin = window_at * stride[dim] - pad[dim], end = begin + window[dim];
    return {begin < 0 ? 0 : begin, end > in[dim] ? in[dim] : end};
  }
  /// Turns the sum over a window into the average.
  float factor(Seen rows, Seen columns) const {
    std::int64_t count = (rows.end - rows.begin) * (columns.end - columns.begin);
    return 1.0f / static_cast<float>(include_padding ? window[0] * window[1] : count);
  }
};

/// Some lanes of one image: the offset of the first in x and in y, and their number.
struct PoolingUnit {
  std::int64_t x, y, width;
};

/// Units of work that touch disjoint elements.
class PoolingUnits {
 public:
  /// Divides the lanes of an image if there are fewer images than threads.
  PoolingUnits(const Pooling& p, int threads);

  std::int64_t count() const { return images_ * per_image_; }
  PoolingUnit at(std::int64_t unit) const;

 private:
  ChannelView x_, y_;
  std::int64_t images_, width_, per_image_;
};

/// Operands: x, y. The scratch holds pooling_forward_work().
Loop pooling_forward(const Pooling& pooling);
Bytes pooling_forward_work(const Pooling& pooling, int threads);
/// Operands: x (only for the largest, which is searched again), dy, dx.
Loop pooling_backward(const Pooling& pooling);
Bytes pooling_backward_work(const Pooling& pooling, int threads);
/// Returns false if too many windows cover one element for pooling_backward().
bool pooling_gathers(const Pooling& pooling);

}  // namespace troika
