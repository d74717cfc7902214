// A tensor as channels and positions, whatever its layout: element ((outer * blocks + block) *
// inner + at) * lanes + lane belongs to channel block * lanes + lane.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "tensor/layout.h"
#include "tensor/region.h"

namespace troika {

struct ChannelView {
  std::int64_t outer = 1, blocks = 1, inner = 1, lanes = 1;
  std::int64_t channels = 1;  ///< Without padding.

  std::int64_t padded() const { return blocks * lanes; }
  std::int64_t positions() const { return outer * inner; }
  std::int64_t elements() const { return outer * blocks * inner * lanes; }
};

/// Rows of lanes that are neighbours in memory and belong to the same channels.
struct ChannelRun {
  std::int64_t element, rows;
  std::int64_t channel;  ///< The channel of the first lane.
};

/// Calls f(run) for all runs of the rows [begin, end) of the tensor, in memory order.
template <class F>
void for_runs(const ChannelView& view, Range rows, const F& f) {
  for (std::int64_t row = rows.begin; row < rows.end;) {
    std::int64_t number = row / view.inner, stop = std::min(rows.end, (number + 1) * view.inner);
    f(ChannelRun{row * view.lanes, stop - row, number % view.blocks * view.lanes});
    row = stop;
  }
}

/// Calls f(run) for the runs of some positions and all blocks of channels of the range.
template <class F>
void for_runs(const ChannelView& view, Range blocks, Range positions, const F& f) {
  for (std::int64_t begin = positions.begin; begin < positions.end;) {
    std::int64_t outer = begin / view.inner,
                 end = std::min(positions.end, (outer + 1) * view.inner);
    for (std::int64_t block = blocks.begin; block < blocks.end; ++block) {
      std::int64_t row = (outer * view.blocks + block) * view.inner + begin - outer * view.inner;
      f(ChannelRun{row * view.lanes, end - begin, block * view.lanes});
    }
    begin = end;
  }
}

/// As above, with the last positions first.
template <class F>
void for_runs_backwards(const ChannelView& view, Range blocks, Range positions, const F& f) {
  for (std::int64_t end = positions.end; end > positions.begin;) {
    std::int64_t outer = (end - 1) / view.inner,
                 begin = std::max(positions.begin, outer * view.inner);
    for_runs(view, blocks, {begin, end}, f);
    end = begin;
  }
}

/// The view with channels along dimension `dim`; nothing if the layout does not support that.
std::optional<ChannelView> channel_view(const Shape& shape, Layout layout, std::size_t dim);

/// Images [n,c,h,w]: `outer` are the samples and `inner` the pixels, in each of the channel
/// layouts.
ChannelView image_view(const Shape& shape, Layout layout);

/// The first of `parts` equal parts of the positions; part i begins i * elements() of it further
/// on. Divides the outer dimension if possible, else the inner one.
ChannelView part_of_positions(const ChannelView& view, std::int64_t parts);

}  // namespace troika
