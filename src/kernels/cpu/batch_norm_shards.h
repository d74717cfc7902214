// What the forward and backward loops of batch norm share.
#pragma once

#include <algorithm>
#include <cmath>

#include "kernels/cpu/channel_loops.h"
#include "kernels/cpu/offer.h"

namespace troika {

/// One shard's view, and how many shards follow each other.
struct Shards {
  ChannelView view;
  std::int64_t shards;
  double epsilon, count;  ///< `count`: elements of a whole shard and channel, of which this tile
                          ///< may hold a part.

  double held() const { return static_cast<double>(view.positions()); }
  std::int64_t channels() const { return view.channels; }
  double inv_std(double variance) const { return 1 / std::sqrt(variance + epsilon); }
};

/// The scratch of one shard: sums in f64, then four numbers per channel in f32, zero where the
/// layout pads.
struct ShardWork {
  ShardWork(const Shards& s, const Launch& launch)
      : sums(launch.work<double>()), stride(s.view.padded()) {
    auto* floats = reinterpret_cast<float*>(sums + channel_sum_doubles(s.view, launch.threads));
    for (std::int64_t at = 0; at < 4; ++at) per_channel[at] = floats + at * stride;
    std::fill_n(floats, 4 * stride, 0.0f);
  }
  static Bytes bytes(const Shards& s, int threads) {
    return {8 * channel_sum_doubles(s.view, threads) + 16 * s.view.padded()};
  }
  double first(std::int64_t channel) const { return sums[channel]; }
  double second(std::int64_t channel) const { return sums[stride + channel]; }

  double* sums;
  std::int64_t stride;
  float* per_channel[4];
};

/// The loops of backward, backward_statistics and backward_apply.
Loop batch_norm_backward(const Shards& shards, Phase phase);

}  // namespace troika
