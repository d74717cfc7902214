// One pass over the logits gives the logarithm of the sum of exponentials, from which both the loss
// and its gradient follow. If the classes are divided among devices, the largest logit and the sums
// are exchanged between the phases statistics_1, statistics_2 and apply.
#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/cpu/offers.h"
#include "kernels/cpu/streaming.h"
#include "kernels/cpu/vector_math.h"

namespace troika {
namespace {

/// NaNs are skipped here; they come back in the sum.
float largest_of(const float* x, std::int64_t count) {
  return max_range(0, count, [x](std::int64_t i) { return x[i]; });
}

/// Terms that are added in f32; their sums are added in f64.
constexpr std::int64_t kBlock = 1024;

double exp_sum(const float* x, std::int64_t count, float largest) {
  double sum = 0;
  for (std::int64_t at = 0; at < count; at += kBlock)
    sum += sum_floats(at, std::min(at + kBlock, count),
                      [=](std::int64_t i) { return vector_exp(x[i] - largest); });
  return sum;
}

/// The logarithm of the sum of exponentials in one pass: where a block has a larger element than
/// all before, the sum so far is scaled down (Milakov and Gimelshein 2018, arXiv:1805.02867).
double log_sum_exp(const float* x, std::int64_t count) {
  constexpr float kLeast = -std::numeric_limits<float>::infinity();
  float largest = kLeast;
  double sum = 0;
  for (std::int64_t at = 0; at < count; at += kBlock) {
    std::int64_t length = std::min(kBlock, count - at);
    float here = largest_of(x + at, length);
    if (here > largest) {
      sum *= std::exp(static_cast<double>(largest) - here);
      largest = here;
    }
    // The difference of two infinities would be NaN.
    sum += exp_sum(x + at, length, largest == kLeast ? 0.0f : largest);
  }
  return largest + std::log(sum);
}

struct LogitRows {
  std::int64_t rows, classes;

  /// The column of a target in this tile, or -1 when another tile has it.
  std::int64_t column(const Launch& launch, std::int32_t target) const {
    std::int64_t column = target - launch.position[0];
    return column >= 0 && column < classes ? column : -1;
  }
};

/// Adds w * loss and w over the rows, in order. A padded row has weight 0 and must not bring in a
/// NaN.
void add_up(std::int64_t rows, const float* weight, const float* loss, double* loss_sum,
            double* weight_sum) {
  *loss_sum = sum_range(0, rows, [=](std::int64_t row) {
    return weight[row] != 0 ? static_cast<double>(weight[row]) * loss[row] : 0.0;
  });
  *weight_sum =
      sum_range(0, rows, [=](std::int64_t row) { return static_cast<double>(weight[row]); });
}

Loop forward(const LogitRows& shape) {
  return [shape](const Launch& launch) {
    const float *x = launch.at(0), *weight = launch.at(2);
    const std::int32_t* target = launch.at<std::int32_t>(1);
    float *log_sum = launch.at(5), *loss = launch.work();
    for_rows(launch.threads, shape.rows, 4 * shape.classes, [&](std::int64_t row) {
      const float* logits = x + row * shape.classes;
      double log_of_sum = log_sum_exp(logits, shape.classes);
      log_sum[row] = weight[row] != 0 ? static_cast<float>(log_of_sum) : 0.0f;
      // A target outside the classes has no loss; NaN makes the guard stop the run.
      std::int64_t column = shape.column(launch, target[row]);
      loss[row] = column < 0 ? std::numeric_limits<float>::quiet_NaN()
                             : static_cast<float>(log_of_sum - logits[column]);
    });
    add_up(shape.rows, weight, loss, launch.at<double>(3), launch.at<double>(4));
  };
}

/// The largest logit of this tile in each row.
Loop statistics_1(const LogitRows& shape) {
  return [shape](const Launch& launch) {
    const float* x = launch.at(0);
    float* largest = launch.at(1);
    for_rows(launch.threads, shape.rows, shape.classes, [&](std::int64_t row) {
      largest[row] = largest_of(x + row * shape.classes, shape.classes);
    });
  };
}

/// The sum of exponentials relative to the largest logit of all tiles, and the target's logit: only
/// one tile has it, the others contribute 0 to the sum over tiles.
Loop statistics_2(const LogitRows& shape) {
  return [shape](const Launch& launch) {
    const float *x = launch.at(0), *largest = launch.at(2);
    const std::int32_t* target = launch.at<std::int32_t>(1);
    float *sums = launch.at(3), *picked = launch.at(4);
    for_rows(launch.threads, shape.rows, 4 * shape.classes, [&](std::int64_t row) {
      const float* logits = x + row * shape.classes;
      sums[row] = static_cast<float>(exp_sum(logits, shape.classes, largest[row]));
      std::int64_t column = shape.column(launch, target[row]);
      picked[row] = column < 0 ? 0.0f : logits[column];
    });
  };
}

Loop apply(const LogitRows& shape) {
  return [shape](const Launch& launch) {
    const float *weight = launch.at(1), *largest = launch.at(2), *sums = launch.at(3),
                *picked = launch.at(4);
    float *log_sum = launch.at(7), *loss = launch.work();
    for_rows(launch.threads, shape.rows, 20, [&](std::int64_t row) {
      log_sum[row] = largest[row] + std::log(sums[row]);
      loss[row] = log_sum[row] - picked[row];
    });
    add_up(shape.rows, weight, loss, launch.at<double>(5), launch.at<double>(6));
  };
}

/// dx = weight * (softmax - one_hot(target)).
Loop backward(const LogitRows& shape) {
  return [shape](const Launch& launch) {
    const float *x = launch.at(0), *weight = launch.at(2), *log_sum = launch.at(3);
    const std::int32_t* target = launch.at<std::int32_t>(1);
    bool streamed =
        shape.rows * shape.classes >= kStreamed && launch.at(4) != x && stores_whole_lines();
    for_rows(launch.threads, shape.rows, 4 * shape.classes, [&](std::int64_t row) {
      const float* logits = x + row * shape.classes;
      float *dx = launch.at(4) + row * shape.classes, w = weight[row], log_of_sum = log_sum[row];
      if (w == 0) return run_range(0, shape.classes, [=](std::int64_t i) { dx[i] = 0; });
      std::int64_t column = shape.column(launch, target[row]);
      auto gradient = [=](std::int64_t i) { return w * vector_exp(logits[i] - log_of_sum); };
      if (streamed)
        stream_range(0, shape.classes, dx, gradient);
      else
        run_range(0, shape.classes, [=](std::int64_t i) { dx[i] = gradient(i); });
      if (streamed) stream_end();
      if (column >= 0) dx[column] -= w;
    });
  };
}

}  // namespace

Offers offers(const CrossEntropy&, const Request& request) {
  const Shape& x = request.key.inputs[0].shape;
  LogitRows rows{x.elements() / x.back(), x.back()};
  Candidate candidate{.algorithm = "loop",
                      .layouts = std::vector(request.operands.size(), Layout::plain)};
  candidate.scratch = {4 * rows.rows};
  switch (request.key.phase) {
    case Phase::forward:
      return {offer_loop(request, candidate, forward(rows))};
    case Phase::statistics_1:
      return {offer_loop(request, candidate, statistics_1(rows))};
    case Phase::statistics_2:
      return {offer_loop(request, candidate, statistics_2(rows))};
    case Phase::apply:
      return {offer_loop(request, candidate, apply(rows))};
    default:
      candidate.in_place = {{4, 0}};
      return {offer_loop(request, candidate, backward(rows))};
  }
}

}  // namespace troika
