#include <algorithm>
#include <cmath>

#include "kernels/reference/reference.h"

namespace troika {
namespace batch_norm_reference {

enum Slots {
  kX,
  kGamma,
  kBeta,
  kRunningMean,
  kRunningVar,
  kY,
  kMean,
  kInvStd,
  kSum,
  kSquares,
  kDySum,
  kDyXSum
};

/// The elements of one shard and channel; `at` is their index in the tensors per shard.
struct Group {
  std::int64_t shard, channel, at;
};

/// The whole and the staged phases share their loops and differ in where the mean, the scale and
/// the sums of backward come from. Sums are in double, also for f32, because a group may have
/// millions of elements.
template <class T>
struct BatchNormRun {
  const BatchNorm& op;
  const Arguments& a;
  const Shape& shape = a.shape(kX);
  // The running statistics are not per shard, so prediction treats all samples as one group.
  std::int64_t shards = op.training ? op.shards : 1, channels = shape[1],
               inner = shape.product(2, shape.rank());
  std::int64_t samples = shape[0] / shards;
  double held = static_cast<double>(samples * inner);  ///< Of a group, in this tile.
  double count = op.count > 0 ? static_cast<double>(op.count) : held;

  void for_each_group(auto&& visit) const {
    for (std::int64_t shard = 0; shard < shards; ++shard)
      for (std::int64_t channel = 0; channel < channels; ++channel)
        visit(Group{shard, channel, shard * channels + channel});
  }
  void for_each_element(const Group& group, auto&& visit) const {
    for (std::int64_t n = group.shard * samples; n < (group.shard + 1) * samples; ++n)
      for (std::int64_t at = 0; at < inner; ++at)
        visit((n * channels + group.channel) * inner + at);
  }
  double sum_over(const Group& group, auto&& term) const {
    double sum = 0;
    for_each_element(group, [&](std::int64_t i) { sum += term(i); });
    return sum;
  }
  double sum_of_x(const Group& group) const {
    auto x = a.value<const T>(kX);
    return sum_over(group, [&](std::int64_t i) { return x[i]; });
  }
  double sum_of_squares(const Group& group, double mean) const {
    auto x = a.value<const T>(kX);
    return sum_over(group, [&](std::int64_t i) { return (x[i] - mean) * (x[i] - mean); });
  }
  double inv_std(double variance) const { return 1 / std::sqrt(variance + op.epsilon); }
  double staged_mean(const Group& group) const { return a.value<const T>(kSum)[group.at] / count; }
  double staged_inv_std(const Group& group) const {
    return inv_std(a.value<const T>(kSquares)[group.at] / count);
  }

  void normalise(const Group& group, double mean, double scale) const {
    auto x = a.value<const T>(kX);
    auto y = a.value<T>(kY);
    T gamma = a.value<const T>(kGamma)[group.channel],
      beta = a.value<const T>(kBeta)[group.channel];
    for_each_element(group, [&](std::int64_t i) {
      y[i] = static_cast<T>(gamma * ((x[i] - mean) * scale) + beta);
    });
  }

  void clear_running() const {
    std::ranges::fill(a.gradient<T>(kRunningMean), T{0});
    std::ranges::fill(a.gradient<T>(kRunningVar), T{0});
  }
  /// A tile adds its share of the shard, so that the sum over tiles is the statistic of the shard.
  void add_running(const Group& group, double mean, double squares) const {
    double share = held / count;
    a.gradient<T>(kRunningMean)[group.channel] += static_cast<T>(share * mean);
    // The running variance is unbiased, as in PyTorch; the normalisation above uses the biased one.
    a.gradient<T>(kRunningVar)[group.channel] +=
        static_cast<T>(share * squares / std::max(count - 1, 1.0));
  }

  void forward() const {
    clear_running();
    for_each_group([&](const Group& group) {
      double mean = sum_of_x(group) / count, squares = sum_of_squares(group, mean),
             scale = inv_std(squares / count);
      a.value<T>(kMean)[group.at] = static_cast<T>(mean);
      a.value<T>(kInvStd)[group.at] = static_cast<T>(scale);
      normalise(group, mean, scale);
      add_running(group, mean, squares);
    });
  }

  void predict() const {
    for_each_group([&](const Group& group) {
      normalise(group, a.value<const T>(kRunningMean)[group.channel],
                inv_std(a.value<const T>(kRunningVar)[group.channel]));
    });
  }

  void statistics_1() const {
    for_each_group(
        [&](const Group& group) { a.value<T>(kSum)[group.at] = static_cast<T>(sum_of_x(group)); });
  }
  void statistics_2() const {
    for_each_group([&](const Group& group) {
      a.value<T>(kSquares)[group.at] = static_cast<T>(sum_of_squares(group, staged_mean(group)));
    });
  }
  void apply() const {
    clear_running();
    for_each_group([&](const Group& group) {
      normalise(group, staged_mean(group), staged_inv_std(group));
      add_running(group, staged_mean(group), a.value<const T>(kSquares)[group.at]);
    });
  }

  double sum_of_dy(const Group& group) const {
    auto dy = a.gradient<const T>(kY);
    return sum_over(group, [&](std::int64_t i) { return dy[i]; });
  }
  double sum_of_dy_x(const Group& group, double mean, double scale) const {
    auto x = a.value<const T>(kX), dy = a.gradient<const T>(kY);
    return sum_over(group, [&](std::int64_t i) { return dy[i] * ((x[i] - mean) * scale); });
  }

  /// `complete(group, dy_sum, dy_x_sum)` turns this tile's sums into those of the whole shard.
  void backward(auto&& mean_of, auto&& scale_of, auto&& complete) const {
    auto x = a.value<const T>(kX), dy = a.gradient<const T>(kY);
    auto dx = a.gradient<T>(kX), dgamma = a.gradient<T>(kGamma), dbeta = a.gradient<T>(kBeta);
    std::ranges::fill(dgamma, T{0});
    std::ranges::fill(dbeta, T{0});
    for_each_group([&](const Group& group) {
      double mean = mean_of(group), scale = scale_of(group);
      // dbeta and dgamma get this tile's own sums, which are added up over tiles like every
      // gradient of a weight. dx needs the sums of the whole shard, hence `complete` in between.
      double dy_sum = sum_of_dy(group), dy_x_sum = sum_of_dy_x(group, mean, scale);
      dbeta[group.channel] += static_cast<T>(dy_sum);
      dgamma[group.channel] += static_cast<T>(dy_x_sum);
      complete(group, dy_sum, dy_x_sum);
      double factor = a.value<const T>(kGamma)[group.channel] * scale;
      for_each_element(group, [&](std::int64_t i) {
        // With n = (x - mean) * scale: dx = gamma * scale * (dy - mean(dy) - n * mean(dy * n)), the
        // gradient in section 3 of the paper with its terms collected.
        dx[i] =
            static_cast<T>(factor * (dy[i] - (dy_sum + (x[i] - mean) * scale * dy_x_sum) / count));
      });
    });
  }
  void backward_whole() const {
    backward([&](const Group& group) { return a.value<const T>(kMean)[group.at]; },
             [&](const Group& group) { return a.value<const T>(kInvStd)[group.at]; },
             [](const Group&, double&, double&) {});
  }
  void backward_statistics() const {
    for_each_group([&](const Group& group) {
      a.value<T>(kDySum)[group.at] = static_cast<T>(sum_of_dy(group));
      a.value<T>(kDyXSum)[group.at] =
          static_cast<T>(sum_of_dy_x(group, staged_mean(group), staged_inv_std(group)));
    });
  }
  void backward_apply() const {
    backward([&](const Group& group) { return staged_mean(group); },
             [&](const Group& group) { return staged_inv_std(group); },
             [&](const Group& group, double& dy_sum, double& dy_x_sum) {
               dy_sum = a.value<const T>(kDySum)[group.at];
               dy_x_sum = a.value<const T>(kDyXSum)[group.at];
             });
  }
};

}  // namespace batch_norm_reference

void run_reference(const BatchNorm& op, const Arguments& a) {
  using namespace batch_norm_reference;
  dispatch(a.spec(kX).dtype, [&]<class T>() {
    BatchNormRun<T> run{op, a};
    switch (a.phase()) {
      case Phase::forward:
        return op.training ? run.forward() : run.predict();
      case Phase::statistics_1:
        return run.statistics_1();
      case Phase::statistics_2:
        return run.statistics_2();
      case Phase::apply:
        return run.apply();
      case Phase::backward_statistics:
        return run.backward_statistics();
      case Phase::backward_apply:
        return run.backward_apply();
      default:
        return run.backward_whole();
    }
  });
}

}  // namespace troika
