#include "kernels/cpu/batch_norm_shards.h"

namespace troika {
namespace {

Loop statistics_1(const Shards& s) {
  return [s](const Launch& launch) {
    for (std::int64_t shard = 0; shard < s.shards; ++shard) {
      const float* x = launch.at(0) + shard * s.view.elements();
      ShardWork work(s, launch);
      channel_sums(
          s.view, launch.threads, work.sums, [x](std::int64_t i, std::int64_t) { return x[i]; },
          NoTerm());
      for (std::int64_t c = 0; c < s.channels(); ++c)
        launch.at(1)[shard * s.channels() + c] = static_cast<float>(work.first(c));
    }
  };
}

Loop statistics_2(const Shards& s) {
  return [s](const Launch& launch) {
    for (std::int64_t shard = 0; shard < s.shards; ++shard) {
      const float* x = launch.at(0) + shard * s.view.elements();
      ShardWork work(s, launch);
      float* mean = work.per_channel[0];
      for (std::int64_t c = 0; c < s.channels(); ++c)
        mean[c] = static_cast<float>(launch.at(1)[shard * s.channels() + c] / s.count);
      channel_sums(
          s.view, launch.threads, work.sums,
          [=](std::int64_t i, std::int64_t c) { return (x[i] - mean[c]) * (x[i] - mean[c]); },
          NoTerm());
      for (std::int64_t c = 0; c < s.channels(); ++c)
        launch.at(2)[shard * s.channels() + c] = static_cast<float>(work.first(c));
    }
  };
}

Loop apply(const Shards& s) {
  return [s](const Launch& launch) {
    Running running{launch.at(6), launch.at(7)};
    running.clear(s.channels());
    for (std::int64_t shard = 0; shard < s.shards; ++shard) {
      const float *sum = launch.at(3) + shard * s.channels(),
                  *squares = launch.at(4) + shard * s.channels();
      ShardWork work(s, launch);
      for (std::int64_t c = 0; c < s.channels(); ++c) {
        double mean = sum[c] / s.count;
        work.set_normalisation(c, mean, s.inv_std(squares[c] / s.count), launch.at(1),
                               launch.at(2));
        running.add(s, c, mean, squares[c]);
      }
      std::int64_t at = shard * s.view.elements();
      const float *x = launch.at(0) + at, *scale = work.per_channel[0],
                  *shift = work.per_channel[1];
      for_channels(launch.threads, s.view,
                   {s.view, launch.at(5) + at, launch.at(5) == launch.at(0)},
                   [=](std::int64_t i, std::int64_t c) { return scale[c] * x[i] + shift[c]; });
    }
  };
}

}  // namespace

Loop batch_norm_staged(const Shards& shards, Phase phase) {
  if (phase == Phase::statistics_1) return statistics_1(shards);
  if (phase == Phase::statistics_2) return statistics_2(shards);
  return apply(shards);
}

}  // namespace troika
