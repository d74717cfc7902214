// The geometry of windows that slide over a dimension, as in convolution and pooling.
#pragma once

#include <string_view>

#include "ops/signature.h"

namespace troika {

/// Output index o sees the input indices [o*stride - pad, o*stride - pad + reach).
struct Window {
  std::int64_t reach =
      1;  ///< Input indices from the first to the last one seen, dilation included.
  std::int64_t stride = 1;
  std::int64_t pad = 0;
  std::int64_t pad_end =
      0;  ///< Negative where the last indices are not seen: a tile may hold more than it needs.
};

/// Throws Error(usage) unless the window fits an input of this extent and each place of it sees at
/// least one index.
void require_window(std::string_view op, const Window& window, std::int64_t extent);

/// How many windows fit: the extent of the output.
std::int64_t window_count(const Window& window, std::int64_t extent);

/// The input dimension, as tiles of the output axis touch it. Indices that no window sees belong to
/// the window before them, so that tiles cover the input and every element of its gradient is
/// written.
DimMap window_map(int axis, const Window& window, std::int64_t extent);

struct Pads {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

/// With these, the windows `outputs` are all the windows of the part `inputs` that window_map gives
/// them.
Pads local_pads(const Window& window, Range outputs, Range inputs);

}  // namespace troika
