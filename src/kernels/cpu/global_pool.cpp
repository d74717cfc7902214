// The window is the whole image. A vector of channels is reduced over all pixels; if a channel's
// pixels are neighbours instead (plain layout), averages have a loop of their own.
#include "kernels/cpu/channel_writes.h"
#include "kernels/cpu/offers.h"
#include "kernels/cpu/pooling_lanes.h"

namespace troika {
namespace {

/// One block of channels of one image: its elements, and where its channels begin in y, which is
/// [n,c] whatever x is.
struct ImageBlock {
  ChannelRun run;
  std::int64_t y, channels;
};

ImageBlock block_at(const ChannelView& view, std::int64_t number) {
  std::int64_t channel = number % view.blocks * view.lanes, image = number / view.blocks;
  return {{number * view.inner * view.lanes, view.inner, channel},
          image * view.channels + channel,
          std::min(view.lanes, view.channels - channel)};
}

/// The largest element of each lane and the pixel of its first occurrence, or the sum.
template <bool Max, class Lanes>
TROIKA_VECTORIZED void reduce(const Lanes& lanes, const ChannelView& view, const float* x,
                              float* value, std::int32_t* pixel_found) {
  typename Lanes::V kept{}, next;
  typename Lanes::Indices found{};
  if constexpr (Max) lanes.get(kept, x);
  for (std::int64_t pixel = 0; pixel < view.inner; ++pixel) {
    lanes.get(next, x + pixel * view.lanes);
    if constexpr (Max) {
      found = next > kept ? typename Lanes::Indices{} + static_cast<std::int32_t>(pixel) : found;
      kept = next > kept ? next : kept;
    } else {
      kept += next;
    }
  }
  std::memcpy(value, &kept, sizeof kept);
  std::memcpy(pixel_found, &found, sizeof found);
}

/// Calls f(channels, values, pixels) with up to 16 channels of the block at a time.
template <bool Max, class F>
void reduce_block(const ChannelView& view, const ImageBlock& block, const float* x, const F& f) {
  for_lanes(view.lanes, 0, [&]<int>(const auto& lanes, const LaneTiles& at) {
    for (std::int64_t lane = at.offset; lane < at.offset + at.tiles * 16; lane += 16) {
      float values[16] = {};
      std::int32_t pixels[16] = {};
      reduce<Max>(lanes, view, x + block.run.element + lane, values, pixels);
      std::int64_t end = std::min(lane + 16, block.channels);
      if (lane < end) f(Range{lane, end}, values, pixels);
    }
  });
}

template <bool Max>
Loop pool_forward(const ChannelView& view) {
  return [view](const Launch& launch) {
    float *y = launch.at(1), factor = Max ? 1.0f : 1.0f / static_cast<float>(view.inner);
    const float* x = launch.at(0);
    for_rows(launch.threads, view.outer * view.blocks, view.inner * view.lanes,
             [&](std::int64_t number) {
               ImageBlock block = block_at(view, number);
               reduce_block<Max>(view, block, x,
                                 [&](Range lanes, const float* values, const std::int32_t*) {
                                   for (std::int64_t lane = lanes.begin; lane < lanes.end; ++lane)
                                     y[block.y + lane] = values[lane - lanes.begin] * factor;
                                 });
             });
  };
}

/// The same where a channel's pixels are neighbours in memory.
Loop plane_averages(const ChannelView& view) {
  return [view](const Launch& launch) {
    float factor = 1.0f / static_cast<float>(view.inner);
    for_rows(launch.threads, view.outer * view.blocks, view.inner, [&](std::int64_t plane) {
      const float* x = launch.at(0) + plane * view.inner;
      launch.at(1)[plane] =
          factor * sum_floats(0, view.inner, [x](std::int64_t i) { return x[i]; });
    });
  };
}

/// Every pixel gets its share. Operands: dy, dx.
Loop average_backward(const ChannelView& view) {
  return [view](const Launch& launch) {
    const float* dy = launch.at(0);
    float factor = 1.0f / static_cast<float>(view.inner);
    ChannelOutput dx(view, launch.at(1), false);
    for_rows(launch.threads, view.outer * view.blocks, view.inner * view.lanes,
             [&](std::int64_t number) {
               ImageBlock block = block_at(view, number);
               // Only blocked layouts have padding, so a partial block has at most 16 lanes. Their
               // padding in dx becomes 0.
               float padded[16] = {};
               const float* share = dy + block.y;
               if (block.channels < view.lanes)
                 std::copy_n(share, block.channels, padded), share = padded;
               // write() passes the number of the channel in the tensor, not in the block.
               dx.write(block.run, view.lanes,
                        [=, from = share - block.run.channel](std::int64_t, std::int64_t c) {
                          return from[c] * factor;
                        });
               dx.end();
             });
  };
}

/// Operands: x, dy, dx.
Loop max_backward(const ChannelView& view) {
  return [view](const Launch& launch) {
    const float *x = launch.at(0), *dy = launch.at(1);
    float* dx = launch.at(2);
    for_rows(launch.threads, view.outer * view.blocks, view.inner * view.lanes,
             [&](std::int64_t number) {
               ImageBlock block = block_at(view, number);
               std::fill_n(dx + block.run.element, view.inner * view.lanes, 0.0f);
               reduce_block<true>(
                   view, block, x, [&](Range lanes, const float*, const std::int32_t* pixels) {
                     for (std::int64_t lane = lanes.begin; lane < lanes.end; ++lane)
                       dx[block.run.element + pixels[lane - lanes.begin] * view.lanes + lane] =
                           dy[block.y + lane];
                   });
             });
  };
}

Loop loop_of(const ChannelView& view, PoolKind kind, Phase phase) {
  bool max = kind == PoolKind::max;
  if (phase == Phase::forward && !max && view.lanes == 1) return plane_averages(view);
  if (phase == Phase::forward) return max ? pool_forward<true>(view) : pool_forward<false>(view);
  return max ? max_backward(view) : average_backward(view);
}

}  // namespace

Offers offers(const GlobalPool& op, const Request& request) {
  const Shape& x = request.signature.slots[0].spec.shape;
  Offers list;
  for (Layout layout :
       {Layout::blocked16, Layout::channels_last, Layout::plain, Layout::blocked8}) {
    Candidate candidate{.algorithm = "loop"};
    for (const Operand& operand : request.operands)
      candidate.layouts.push_back(operand.spec.shape.rank() == 4 ? layout : Layout::plain);
    list.push_back(
        offer_loop(request, candidate, loop_of(image_view(x, layout), op.kind, request.key.phase)));
  }
  return list;
}

}  // namespace troika
