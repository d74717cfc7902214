// A tensor as channels and positions, whatever its layout: element ((outer * blocks + block) * inner + at) * lanes + lane
// belongs to channel block * lanes + lane.
#pragma once

#include <cstdint>
#include <optional>

#include "tensor/layout.h"

namespace troika {

struct ChannelView {
  std::int64_t outer = 1, blocks = 1, inner = 1, lanes = 1;
  std::int64_t channels = 1;  ///< Without padding.

  std::int64_t padded() const { return blocks * lanes; }
  std::int64_t elements() const { return outer * blocks * inner * lanes; }
  /// Runs of elements that are neighbours in memory and advance together: a channel's positions where lanes is 1, else the
  /// lanes of one position.
  std::int64_t rows() const { return lanes == 1 ? outer * blocks : outer * blocks * inner; }
  std::int64_t row_length() const { return lanes == 1 ? inner : lanes; }
  /// The first channel of a row.
  std::int64_t channel_of(std::int64_t row) const {
    return lanes == 1 ? row % blocks : row / inner % blocks * lanes;
  }
};

/// Along dimension `dim`; empty when the layout is not made for channels there.
std::optional<ChannelView> channel_view(const Shape& shape, Layout layout, std::size_t dim);

}  // namespace troika
