// With n = (x - mean) * inv_std and the sums over a shard: dbeta = sum dy, dgamma = sum dy * n,
// dx = gamma * inv_std * (dy - (dbeta + n * dgamma) / count).
#include "kernels/cpu/batch_norm_shards.h"

namespace troika {
namespace {

/// Statistics of a channel in one shard.
struct ChannelMoments {
  double mean, inv_std;
};

/// The gradient of y. Through a fused relu it passes where the relu's output is positive.
template <bool Masked>
struct Arriving {
  const float *dy, *y;

  float operator[](std::int64_t i) const { return !Masked || y[i] > 0 ? dy[i] : 0.0f; }
};

/// dx = factor * (dy - (dy_sum + (x - mean) * inv_std * dy_x_sum) / count), as numbers per channel.
void set_dx(const Shards& s, const ShardWork& work, std::int64_t c, const ChannelMoments& m,
            float gamma, double dy_sum, double dy_x_sum) {
  double factor = gamma * m.inv_std;
  work.per_channel[1][c] = static_cast<float>(factor);
  work.per_channel[2][c] = static_cast<float>(-factor * m.inv_std * dy_x_sum / s.count);
  work.per_channel[3][c] = static_cast<float>(-factor * dy_sum / s.count);
}

/// Staged, the two operands from `first` on are sums over all tiles; otherwise mean and inv_std.
ChannelMoments moments_of(const Shards& s, const Launch& launch, bool staged, std::size_t first,
                          std::int64_t at) {
  double a = launch.at(first)[at], b = launch.at(first + 1)[at];
  return staged ? ChannelMoments{a / s.count, s.inv_std(b / s.count)} : ChannelMoments{a, b};
}

/// Operands: x, dy, gamma, then mean and inv_std (or, staged, sum, squares, dy_sum, dy_x_sum), then
/// y if a fused relu masks, then dx, dgamma, dbeta.
template <bool Masked>
void backward_shard(const Shards& s, const Launch& launch, bool staged, std::int64_t shard) {
  std::size_t out = (staged ? 7 : 5) + (Masked ? 1 : 0);
  std::int64_t from = shard * s.view.elements(), row = shard * s.channels();
  const float *x = launch.at(0) + from, *gamma = launch.at(2);
  Arriving<Masked> dy{launch.at(1) + from, Masked ? launch.at(out - 1) + from : nullptr};
  float *dx = launch.at(out) + from, *dgamma = launch.at(out + 1), *dbeta = launch.at(out + 2);
  ShardWork work(s, launch);
  for (std::int64_t c = 0; c < s.channels(); ++c)
    work.per_channel[0][c] = static_cast<float>(moments_of(s, launch, staged, 3, row + c).mean);
  auto finish = [&](Range channels, const double* first, const double* second) {
    for (std::int64_t c = channels.begin; c < s.real(channels).end; ++c) {
      ChannelMoments m = moments_of(s, launch, staged, 3, row + c);
      double dy_sum = first[c - channels.begin], dy_x_sum = second[c - channels.begin] * m.inv_std;
      dbeta[c] += static_cast<float>(dy_sum);
      dgamma[c] += static_cast<float>(dy_x_sum);
      // dx needs the sums of all tiles; dgamma and dbeta are shares, which are added up later.
      if (staged) dy_sum = launch.at(5)[row + c], dy_x_sum = launch.at(6)[row + c];
      set_dx(s, work, c, m, gamma[c], dy_sum, dy_x_sum);
    }
  };
  const float *mean = work.per_channel[0], *a = work.per_channel[1], *b = work.per_channel[2],
              *d = work.per_channel[3];
  ChannelBlocks(s.view, launch.threads, work.sums)
      .run([=](std::int64_t i, std::int64_t) { return dy[i]; },
           [=](std::int64_t i, std::int64_t c) { return dy[i] * (x[i] - mean[c]); }, finish,
           {s.view, dx, dx == dy.dy || dx == x || dx == dy.y},
           [=](std::int64_t i, std::int64_t c) {
             return a[c] * dy[i] + b[c] * (x[i] - mean[c]) + d[c];
           });
}

template <bool Masked>
Loop backward(const Shards& s, bool staged) {
  return [s, staged](const Launch& launch) {
    std::size_t dgamma = (staged ? 8 : 6) + (Masked ? 1 : 0);
    // Shards have one gamma and beta, so their gradients add up.
    std::fill_n(launch.at(dgamma), s.channels(), 0.0f);
    std::fill_n(launch.at(dgamma + 1), s.channels(), 0.0f);
    for (std::int64_t shard = 0; shard < s.shards; ++shard)
      backward_shard<Masked>(s, launch, staged, shard);
  };
}

/// Operands: x, dy, the sums of x and of squares, then the two sums that are computed.
Loop backward_statistics(const Shards& s) {
  return [s](const Launch& launch) {
    for (std::int64_t shard = 0; shard < s.shards; ++shard) {
      std::int64_t from = shard * s.view.elements(), row = shard * s.channels();
      const float *x = launch.at(0) + from, *dy = launch.at(1) + from;
      ShardWork work(s, launch);
      float* mean = work.per_channel[0];
      for (std::int64_t c = 0; c < s.channels(); ++c)
        mean[c] = static_cast<float>(moments_of(s, launch, true, 2, row + c).mean);
      channel_sums(
          s.view, launch.threads, work.sums, [=](std::int64_t i, std::int64_t) { return dy[i]; },
          [=](std::int64_t i, std::int64_t c) { return dy[i] * (x[i] - mean[c]); });
      for (std::int64_t c = 0; c < s.channels(); ++c) {
        launch.at(4)[row + c] = static_cast<float>(work.first(c));
        launch.at(5)[row + c] =
            static_cast<float>(work.second(c) * moments_of(s, launch, true, 2, row + c).inv_std);
      }
    }
  };
}

}  // namespace

Loop batch_norm_backward(const Shards& shards, Phase phase, bool masked) {
  if (phase == Phase::backward_statistics) return backward_statistics(shards);
  bool staged = phase == Phase::backward_apply;
  return masked ? backward<true>(shards, staged) : backward<false>(shards, staged);
}

}  // namespace troika
