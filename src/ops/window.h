// The geometry of windows that slide over a dimension, as in convolution and pooling.
#pragma once

#include <string_view>

#include "ops/signature.h"

namespace troika {

/// Output index o reads the input indices [o*stride - pad, o*stride - pad + reach).
struct Window {
  std::int64_t reach = 1;  ///< Input indices from the first to the last, dilation included.
  std::int64_t stride = 1;
  std::int64_t pad = 0;
  std::int64_t pad_end = 0;  ///< Negative if a tile holds more input than its windows read.
};

/// Throws Error(usage) unless the window fits an input of this extent and every window reads at
/// least one index of the input.
void require_window(std::string_view op, const Window& window, std::int64_t extent);

/// The number of windows, which is the extent of the output.
std::int64_t window_count(const Window& window, std::int64_t extent);

/// Maps tiles of the output axis to the input dimension. Indices that no window reads belong to the
/// window before them, so that tiles cover the input and every element of its gradient is written.
DimMap window_map(int axis, const Window& window, std::int64_t extent);

struct Pads {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

/// Returns the padding with which the part `inputs` has exactly the windows `outputs`. `inputs` is
/// the range that window_map gives for `outputs`.
Pads local_pads(const Window& window, Range outputs, Range inputs);

}  // namespace troika
