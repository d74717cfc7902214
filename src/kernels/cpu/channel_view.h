// A tensor as channels and positions, whatever its layout: element ((outer * blocks + block) *
// inner + at) * lanes + lane belongs to channel block * lanes + lane.
#pragma once

#include <cstdint>
#include <optional>

#include "tensor/layout.h"

namespace troika {

struct ChannelView {
  std::int64_t outer = 1, blocks = 1, inner = 1, lanes = 1;
  std::int64_t channels = 1;  ///< Without padding.

  std::int64_t padded() const { return blocks * lanes; }
  std::int64_t positions() const { return outer * inner; }
  std::int64_t elements() const { return outer * blocks * inner * lanes; }
};

/// Along dimension `dim`; empty when the layout is not made for channels there.
std::optional<ChannelView> channel_view(const Shape& shape, Layout layout, std::size_t dim);

/// Images [n,c,h,w]: `outer` are the samples and `inner` the pixels, in each of the channel
/// layouts.
ChannelView image_view(const Shape& shape, Layout layout);

/// One of `parts` equal consecutive parts of the positions, which are at its elements / parts; what
/// is outermost is divided.
ChannelView part_of_positions(const ChannelView& view, std::int64_t parts);

}  // namespace troika
