#include "kernels/cpu/batch_norm_shards.h"
#include "kernels/cpu/layouts.h"
#include "kernels/cpu/offers.h"

namespace troika {
namespace {

/// y = scale * x + shift, per channel.
void scale_and_shift(const Shards& s, int threads, const float* x, const float* scale,
                     const float* shift, float* y) {
  for_channels(threads, s.view,
               [=](std::int64_t i, std::int64_t c) { y[i] = scale[c] * x[i] + shift[c]; });
}

/// What normalises a channel, written as one scale and one shift.
void set_normalisation(const ShardWork& work, std::int64_t c, double mean, double scale,
                       const float* gamma, const float* beta) {
  work.per_channel[0][c] = static_cast<float>(gamma[c] * scale);
  work.per_channel[1][c] = static_cast<float>(beta[c] - gamma[c] * scale * mean);
}

struct Running {
  float *mean, *var;

  void clear(std::int64_t channels) const {
    std::fill_n(mean, channels, 0.0f), std::fill_n(var, channels, 0.0f);
  }
  /// A tile brings its share of the shard, so that the tiles' sums make the whole.
  void add(const Shards& s, std::int64_t c, double shard_mean, double squares) const {
    double share = s.held() / s.count;
    mean[c] += static_cast<float>(share * shard_mean);
    var[c] += static_cast<float>(share * squares / std::max(s.count - 1, 1.0));
  }
};

/// Sums around the first element of each channel, so that a large mean does not eat the variance.
void gather_moments(const Shards& s, const Launch& launch, const float* x, const ShardWork& work) {
  float* pivot = work.per_channel[2];
  std::int64_t lanes = s.view.lanes, inner = s.view.inner;
  for (std::int64_t c = 0; c < s.channels(); ++c)
    pivot[c] = x[c / lanes * inner * lanes + c % lanes];
  channel_sums(
      s.view, launch.threads, work.sums,
      [=](std::int64_t i, std::int64_t c) { return x[i] - pivot[c]; },
      [=](std::int64_t i, std::int64_t c) { return (x[i] - pivot[c]) * (x[i] - pivot[c]); });
}

Loop forward(const Shards& s) {
  return [s](const Launch& launch) {
    const float *gamma = launch.at(1), *beta = launch.at(2);
    float *mean_out = launch.at(3), *inv_std_out = launch.at(4);
    Running running{launch.at(6), launch.at(7)};
    running.clear(s.channels());
    for (std::int64_t shard = 0; shard < s.shards; ++shard) {
      const float* x = launch.at(0) + shard * s.view.elements();
      ShardWork work(s, launch);
      gather_moments(s, launch, x, work);
      for (std::int64_t c = 0; c < s.channels(); ++c) {
        double shifted = work.first(c) / s.count, mean = work.per_channel[2][c] + shifted;
        double squares = std::max(work.second(c) - shifted * work.first(c), 0.0),
               scale = s.inv_std(squares / s.count);
        mean_out[shard * s.channels() + c] = static_cast<float>(mean);
        inv_std_out[shard * s.channels() + c] = static_cast<float>(scale);
        set_normalisation(work, c, mean, scale, gamma, beta);
        running.add(s, c, mean, squares);
      }
      scale_and_shift(s, launch.threads, x, work.per_channel[0], work.per_channel[1],
                      launch.at(5) + shard * s.view.elements());
    }
  };
}

Loop predict(const Shards& s) {
  return [s](const Launch& launch) {
    const float *mean = launch.at(3), *var = launch.at(4);
    ShardWork work(s, launch);
    for (std::int64_t c = 0; c < s.channels(); ++c)
      set_normalisation(work, c, mean[c], s.inv_std(var[c]), launch.at(1), launch.at(2));
    scale_and_shift(s, launch.threads, launch.at(0), work.per_channel[0], work.per_channel[1],
                    launch.at(5));
  };
}

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
        set_normalisation(work, c, mean, s.inv_std(squares[c] / s.count), launch.at(1),
                          launch.at(2));
        running.add(s, c, mean, squares[c]);
      }
      std::int64_t at = shard * s.view.elements();
      scale_and_shift(s, launch.threads, launch.at(0) + at, work.per_channel[0],
                      work.per_channel[1], launch.at(5) + at);
    }
  };
}

Loop loop_of(const Shards& shards, const BatchNorm& op, Phase phase) {
  switch (phase) {
    case Phase::forward:
      return op.training ? forward(shards) : predict(shards);
    case Phase::statistics_1:
      return statistics_1(shards);
    case Phase::statistics_2:
      return statistics_2(shards);
    case Phase::apply:
      return apply(shards);
    default:
      return batch_norm_backward(shards, phase);
  }
}

}  // namespace

Offers offers(const BatchNorm& op, const Request& request) {
  const Shape& shape = request.shape(0);
  std::int64_t count = op.training ? op.shards : 1;
  Offers list;
  for (Layout layout : activation_layouts(shape)) {
    std::optional<ChannelView> view = channel_view(shape, layout, 1);
    if (!view) continue;
    Shards shards{part_of_positions(*view, count), count, op.epsilon, 0};
    shards.count = op.count > 0 ? static_cast<double>(op.count) : shards.held();
    Candidate candidate{.algorithm = "loop",
                        .scratch = ShardWork::bytes(shards, request.context.threads)};
    for (const Operand& operand : request.operands)
      candidate.layouts.push_back(operand.spec.shape == shape && shape.rank() == 4 ? layout
                                                                                   : Layout::plain);
    list.push_back(offer_loop(request, candidate, loop_of(shards, op, request.key.phase)));
  }
  return list;
}

}  // namespace troika
