// Windows over images whose channels lie in lanes.
#pragma once

#include <array>

#include "kernels/cpu/channel_view.h"
#include "kernels/cpu/offer.h"
#include "ops/pool2d.h"

namespace troika {

/// What one place of the window sees along a dimension.
struct Seen {
  std::int64_t begin, end;
};

struct Pooling {
  PoolKind kind;
  std::array<std::int64_t, 2> window, stride, pad;
  std::array<std::int64_t, 2> in, out;  ///< Rows and columns.
  bool include_padding = false;
  ChannelView x, y;

  Seen seen(std::size_t dim, std::int64_t place) const {
    std::int64_t begin = place * stride[dim] - pad[dim], end = begin + window[dim];
    return {begin < 0 ? 0 : begin, end > in[dim] ? in[dim] : end};
  }
  /// Of a sum over the window, for the average.
  float factor(Seen rows, Seen columns) const {
    std::int64_t count = (rows.end - rows.begin) * (columns.end - columns.begin);
    return 1.0f / static_cast<float>(include_padding ? window[0] * window[1] : count);
  }
};

/// Some lanes of one image: where they begin in x and in y, and how many they are.
struct PoolingUnit {
  std::int64_t x, y, width;
};

/// Units of work, none of which meets another's elements.
class PoolingUnits {
 public:
  /// Where threads would be idle, the lanes of an image are divided.
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
/// Operands: x where the largest is searched again, dy, dx.
bool pooling_gathers(const Pooling& pooling);  ///< False: too many windows see an element.
Loop pooling_backward(const Pooling& pooling);
Bytes pooling_backward_work(const Pooling& pooling, int threads);

}  // namespace troika
