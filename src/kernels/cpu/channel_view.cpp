#include "kernels/cpu/channel_view.h"

namespace troika {

std::optional<ChannelView> channel_view(const Shape& shape, Layout layout, std::size_t dim) {
  std::int64_t channels = shape[dim], outer = shape.product(0, dim),
               inner = shape.product(dim + 1, shape.rank());
  if (layout == Layout::plain) {
    // Channels are the last dimension: a matrix with channels as lanes.
    if (inner == 1) return ChannelView{.inner = outer, .lanes = channels, .channels = channels};
    return ChannelView{.outer = outer, .blocks = channels, .inner = inner, .channels = channels};
  }
  if (shape.rank() != 4 || dim != 1) return std::nullopt;
  if (layout == Layout::channels_last)
    return ChannelView{.outer = outer, .inner = inner, .lanes = channels, .channels = channels};
  if (layout != Layout::blocked8 && layout != Layout::blocked16) return std::nullopt;
  std::int64_t block = layout == Layout::blocked8 ? 8 : 16;
  return ChannelView{.outer = outer,
                     .blocks = (channels + block - 1) / block,
                     .inner = inner,
                     .lanes = block,
                     .channels = channels};
}

ChannelView image_view(const Shape& shape, Layout layout) {
  std::int64_t pixels = shape[2] * shape[3];
  // channel_view() takes 1x1 images as a matrix; here the samples must remain `outer`.
  if (layout == Layout::plain)
    return {.outer = shape[0], .blocks = shape[1], .inner = pixels, .channels = shape[1]};
  return channel_view(shape, layout, 1).value();
}

ChannelView part_of_positions(const ChannelView& view, std::int64_t parts) {
  ChannelView part = view;
  if (view.outer % parts == 0)
    part.outer /= parts;
  else
    part.inner /= parts;
  return part;
}

}  // namespace troika
