// Shards, scratch and running statistics of batch norm, shared by its forward and backward loops.
#pragma once

#include <algorithm>
#include <cmath>

#include "kernels/cpu/channel_sums.h"
#include "kernels/cpu/offers.h"

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
  /// The channels without padding.
  Range real(Range channels) const {
    return {channels.begin, std::min(channels.end, view.channels)};
  }
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

  /// Sets the normalisation of a channel, as one scale and one shift.
  void set_normalisation(std::int64_t c, double mean, double scale, const float* gamma,
                         const float* beta) const {
    per_channel[0][c] = static_cast<float>(gamma[c] * scale);
    per_channel[1][c] = static_cast<float>(beta[c] - gamma[c] * scale * mean);
  }

  double* sums;
  std::int64_t stride;
  float* per_channel[4];
};

/// The step's contribution to the running statistics.
struct Running {
  float *mean, *var;

  void clear(std::int64_t channels) const {
    std::fill_n(mean, channels, 0.0f), std::fill_n(var, channels, 0.0f);
  }
  /// A tile adds its share of the shard, so that the sum over tiles is the statistic of the shard.
  void add(const Shards& s, std::int64_t c, double shard_mean, double squares) const {
    double share = s.held() / s.count;
    mean[c] += static_cast<float>(share * shard_mean);
    var[c] += static_cast<float>(share * squares / std::max(s.count - 1, 1.0));
  }
};

/// The phases backward, backward_statistics and backward_apply. `masked`: the gradient is that of a
/// following relu, whose output is an operand.
Loop batch_norm_backward(const Shards& shards, Phase phase, bool masked);

}  // namespace troika
