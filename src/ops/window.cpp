#include "ops/window.h"

#include <algorithm>

#include "ops/require.h"

namespace troika {

void require_window(std::string_view op, const Window& window, std::int64_t extent) {
  require(window.reach > 0 && window.stride > 0, op, "needs a window and a stride of at least 1");
  // pad_end may be negative, in tiles; pad may not, because a tile begins where its first window
  // does.
  require(window.pad >= 0 && window.pad < window.reach && window.pad_end < window.reach, op,
          "with padding ", window.pad, " before and ", window.pad_end, " behind has windows of ",
          window.reach, " that read only padding; give a padding below ", window.reach);
  require(extent + window.pad + window.pad_end >= window.reach, op, "with a window of ",
          window.reach, " does not fit an input of extent ", extent, " with padding ", window.pad,
          " and ", window.pad_end);
}

std::int64_t window_count(const Window& window, std::int64_t extent) {
  return (extent + window.pad + window.pad_end - window.reach) / window.stride + 1;
}

DimMap window_map(int axis, const Window& window, std::int64_t extent) {
  // `seen` is the end of the last window; the indices behind it go to that window.
  std::int64_t seen =
      (window_count(window, extent) - 1) * window.stride - window.pad + window.reach;
  std::int64_t unseen = std::max<std::int64_t>(0, extent - seen);
  // With stride above reach the gaps between windows also belong to the window before them. Larger
  // reach only means a larger tile of x; local_pads makes up for it with a negative pad_end.
  return {.axis = axis,
          .stride = window.stride,
          .pad = window.pad,
          .reach = std::max(window.stride, window.reach + unseen)};
}

Pads local_pads(const Window& window, Range outputs, Range inputs) {
  // The first window begins at outputs.begin * stride - pad; what lies before the part is padding.
  std::int64_t begin = inputs.begin - (outputs.begin * window.stride - window.pad);
  // The windows span this many indices: begin of padding, the part, and the rest at the end.
  std::int64_t spanned = (outputs.extent() - 1) * window.stride + window.reach;
  return {begin, spanned - begin - inputs.extent()};
}

}  // namespace troika
