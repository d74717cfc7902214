// Windows over images whose channels lie in lanes, shared by pool2d and global_pool.
#pragma once

#include <array>

#include "kernels/cpu/channel_view.h"
#include "kernels/cpu/offer.h"
#include "ops/pool2d.h"

namespace troika {

struct Pooling {
  PoolKind kind;
  std::array<std::int64_t, 2> window, stride, pad;
  std::array<std::int64_t, 2> in, out;  ///< Rows and columns.
  bool include_padding = false;
  ChannelView x, y;  ///< y of a whole-image window may lie otherwise than x.
};

/// Operands: x, y.
Loop pooling_forward(const Pooling& pooling);
/// Operands: x where the largest is searched again, dy, dx.
Loop pooling_backward(const Pooling& pooling);

}  // namespace troika
