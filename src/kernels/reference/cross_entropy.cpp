#include <cmath>
#include <limits>

#include "kernels/reference/reference.h"

namespace troika {
namespace cross_entropy_reference {

enum Slots { kX, kTarget, kWeight, kLossSum, kWeightSum, kLogSum, kRowMax, kExpSum, kPicked };

template <class T>
T row_max(std::span<const T> row) {
  T largest = -std::numeric_limits<T>::infinity();
  // A NaN is kept, so that it reaches the loss and the guard; std::max would drop it.
  for (T x : row) largest = x > largest || std::isnan(x) ? x : largest;
  return largest;
}

/// Logits are rows of `classes` elements, of the whole vocabulary or of one tile of it.
template <class T>
struct CrossEntropyRun {
  const Arguments& a;
  std::int64_t classes = a.shape(kX).back();
  std::int64_t rows = a.shape(kX).elements() / classes;

  auto logits(std::int64_t row) const {
    return a.value<const T>(kX).subspan(row * classes, classes);
  }
  /// The column of the target in this tile, or -1 when another tile has it.
  std::int64_t column(std::int64_t row) const {
    std::int64_t column = a.value<const std::int32_t>(kTarget)[row] - a.position[0];
    return column >= 0 && column < classes ? column : -1;
  }

  void add_up(auto&& loss_of_row) const {
    auto weight = a.value<const T>(kWeight);
    double loss_sum = 0, weight_sum = 0;
    for (std::int64_t row = 0; row < rows; ++row) {
      // A padded row has weight 0 and must not bring in a NaN.
      if (weight[row] != 0) loss_sum += static_cast<double>(weight[row]) * loss_of_row(row);
      weight_sum += weight[row];
    }
    a.value<double>(kLossSum)[0] = loss_sum;
    a.value<double>(kWeightSum)[0] = weight_sum;
  }

  T exp_sum(std::int64_t row, T largest) const {
    T sum = 0;
    for (T x : logits(row)) sum += std::exp(x - largest);
    return sum;
  }

  void forward() const {
    auto log_sum = a.value<T>(kLogSum);
    add_up([&](std::int64_t row) {
      T largest = row_max(logits(row));
      log_sum[row] = largest + std::log(exp_sum(row, largest));
      // A target outside the classes has no loss; NaN makes the guard stop the run.
      return column(row) < 0 ? std::numeric_limits<T>::quiet_NaN()
                             : log_sum[row] - logits(row)[column(row)];
    });
  }

  // The staged phases for a tile of the vocabulary; between them each statistic is combined.
  void statistics_1() const {
    for (std::int64_t row = 0; row < rows; ++row) a.value<T>(kRowMax)[row] = row_max(logits(row));
  }

  void statistics_2() const {
    for (std::int64_t row = 0; row < rows; ++row) {
      a.value<T>(kExpSum)[row] = exp_sum(row, a.value<const T>(kRowMax)[row]);
      a.value<T>(kPicked)[row] = column(row) < 0 ? T{0} : logits(row)[column(row)];
    }
  }

  void apply() const {
    auto log_sum = a.value<T>(kLogSum);
    for (std::int64_t row = 0; row < rows; ++row)
      log_sum[row] = a.value<const T>(kRowMax)[row] + std::log(a.value<const T>(kExpSum)[row]);
    add_up([&](std::int64_t row) { return log_sum[row] - a.value<const T>(kPicked)[row]; });
  }

  void backward() const {
    auto weight = a.value<const T>(kWeight), log_sum = a.value<const T>(kLogSum);
    for (std::int64_t row = 0; row < rows; ++row) {
      auto dx = a.gradient<T>(kX).subspan(row * classes, classes);
      for (std::int64_t c = 0; c < classes; ++c)
        // softmax - one-hot. In a tile without the target's class, column() is -1 and only the
        // softmax remains.
        dx[c] = weight[row] == 0
                    ? T{0}
                    : weight[row] * (std::exp(logits(row)[c] - log_sum[row]) - T(c == column(row)));
    }
  }
};

}  // namespace cross_entropy_reference

void run_reference(const CrossEntropy&, const Arguments& a) {
  using namespace cross_entropy_reference;
  dispatch(a.spec(kX).dtype, [&]<class T>() {
    CrossEntropyRun<T> run{a};
    switch (a.phase()) {
      case Phase::forward:
        return run.forward();
      case Phase::statistics_1:
        return run.statistics_1();
      case Phase::statistics_2:
        return run.statistics_2();
      case Phase::apply:
        return run.apply();
      default:
        return run.backward();
    }
  });
}

}  // namespace troika
