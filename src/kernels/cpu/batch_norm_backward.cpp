#include "kernels/cpu/batch_norm_shards.h"

namespace troika {
namespace {

/// What backward knows of a channel in one shard.
struct ChannelMoments {
  double mean, inv_std;
};

/// first: the sum of dy; second: of dy * (x - mean).
void gather(const Shards& s, int threads, const float* x, const float* dy, const ShardWork& work) {
  const float* mean = work.per_channel[0];
  channel_sums(
      s.view, threads, work.sums, [=](std::int64_t i, std::int64_t) { return dy[i]; },
      [=](std::int64_t i, std::int64_t c) { return dy[i] * (x[i] - mean[c]); });
}

/// dx = factor * (dy - (dy_sum + (x - mean) * inv_std * dy_x_sum) / count), as numbers per channel.
void set_dx(const Shards& s, const ShardWork& work, std::int64_t c, const ChannelMoments& m,
            float gamma, double dy_sum, double dy_x_sum) {
  double factor = gamma * m.inv_std;
  work.per_channel[1][c] = static_cast<float>(factor);
  work.per_channel[2][c] = static_cast<float>(-factor * m.inv_std * dy_x_sum / s.count);
  work.per_channel[3][c] = static_cast<float>(-factor * dy_sum / s.count);
}

ChannelMoments moments_of(const Shards& s, const Launch& launch, bool staged, std::size_t first,
                          std::int64_t at) {
  double a = launch.at(first)[at], b = launch.at(first + 1)[at];
  return staged ? ChannelMoments{a / s.count, s.inv_std(b / s.count)} : ChannelMoments{a, b};
}

/// Operands: x, dy, gamma, then mean and inv_std (or, staged, sum, squares, dy_sum, dy_x_sum), then
/// dx, dgamma, dbeta.
Loop backward(const Shards& s, bool staged) {
  return [s, staged](const Launch& launch) {
    std::size_t out = staged ? 7 : 5;
    float *dgamma = launch.at(out + 1), *dbeta = launch.at(out + 2);
    std::fill_n(dgamma, s.channels(), 0.0f), std::fill_n(dbeta, s.channels(), 0.0f);
    for (std::int64_t shard = 0; shard < s.shards; ++shard) {
      std::int64_t from = shard * s.view.elements(), row = shard * s.channels();
      const float *x = launch.at(0) + from, *dy = launch.at(1) + from, *gamma = launch.at(2);
      float* dx = launch.at(out) + from;
      ShardWork work(s, launch);
      for (std::int64_t c = 0; c < s.channels(); ++c)
        work.per_channel[0][c] = static_cast<float>(moments_of(s, launch, staged, 3, row + c).mean);
      gather(s, launch.threads, x, dy, work);
      for (std::int64_t c = 0; c < s.channels(); ++c) {
        ChannelMoments m = moments_of(s, launch, staged, 3, row + c);
        double dy_sum = work.first(c), dy_x_sum = work.second(c) * m.inv_std;
        dbeta[c] += static_cast<float>(dy_sum);
        dgamma[c] += static_cast<float>(dy_x_sum);
        if (staged) dy_sum = launch.at(5)[row + c], dy_x_sum = launch.at(6)[row + c];
        set_dx(s, work, c, m, gamma[c], dy_sum, dy_x_sum);
      }
      const float *mean = work.per_channel[0], *a = work.per_channel[1], *b = work.per_channel[2],
                  *d = work.per_channel[3];
      for_channels(launch.threads, s.view, [=](std::int64_t i, std::int64_t c) {
        dx[i] = a[c] * dy[i] + b[c] * (x[i] - mean[c]) + d[c];
      });
    }
  };
}

Loop backward_statistics(const Shards& s) {
  return [s](const Launch& launch) {
    for (std::int64_t shard = 0; shard < s.shards; ++shard) {
      std::int64_t from = shard * s.view.elements(), row = shard * s.channels();
      ShardWork work(s, launch);
      for (std::int64_t c = 0; c < s.channels(); ++c)
        work.per_channel[0][c] = static_cast<float>(moments_of(s, launch, true, 2, row + c).mean);
      gather(s, launch.threads, launch.at(0) + from, launch.at(1) + from, work);
      for (std::int64_t c = 0; c < s.channels(); ++c) {
        launch.at(4)[row + c] = static_cast<float>(work.first(c));
        launch.at(5)[row + c] =
            static_cast<float>(work.second(c) * moments_of(s, launch, true, 2, row + c).inv_std);
      }
    }
  };
}

}  // namespace

Loop batch_norm_backward(const Shards& shards, Phase phase) {
  if (phase == Phase::backward_statistics) return backward_statistics(shards);
  return backward(shards, phase == Phase::backward_apply);
}

}  // namespace troika
