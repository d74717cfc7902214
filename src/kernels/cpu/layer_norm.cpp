#include <algorithm>
#include <cmath>

#include "kernels/cpu/loops.h"
#include "kernels/cpu/offers.h"

namespace troika {
namespace {

struct Rows {
  std::int64_t rows, width;
  double epsilon;
};

Loop forward(const Rows& r) {
  return [r](const Launch& launch) {
    const float *gamma = launch.at(1), *beta = launch.at(2);
    auto width = static_cast<double>(r.width);
    for_rows(launch.threads, r.rows, 3 * r.width, [&](std::int64_t row) {
      const float* x = launch.at(0) + row * r.width;
      float* y = launch.at(3) + row * r.width;
      double mean =
          sum_range(0, r.width, [x](std::int64_t i) { return static_cast<double>(x[i]); }) / width;
      double squares =
          sum_range(0, r.width, [=](std::int64_t i) { return (x[i] - mean) * (x[i] - mean); });
      double inv_std = 1 / std::sqrt(squares / width + r.epsilon);
      auto shift = static_cast<float>(mean), scale = static_cast<float>(inv_std);
      run_range(0, r.width,
                [=](std::int64_t i) { y[i] = gamma[i] * ((x[i] - shift) * scale) + beta[i]; });
      launch.at(4)[row] = shift;
      launch.at(5)[row] = scale;
    });
  };
}

/// One row of dx; its share of dgamma and dbeta is added to `sums`, two arrays of the width.
TROIKA_VECTORIZED void backward_row(const Rows& r, const float* x, const float* dy,
                                    const float* gamma, float mean, float inv_std, float* dx,
                                    double* sums) {
  std::int64_t width = r.width;
  double* beta_sums = sums + width;
  double sum = 0, sum_x = 0;
#pragma omp simd reduction(+ : sum, sum_x)
  for (std::int64_t i = 0; i < width; ++i) {
    double scaled = static_cast<double>(dy[i]) * static_cast<double>(gamma[i]);
    sum += scaled;
    sum_x += scaled * static_cast<double>((x[i] - mean) * inv_std);
  }
#pragma omp simd
  for (std::int64_t i = 0; i < width; ++i) {
    sums[i] += static_cast<double>(dy[i] * ((x[i] - mean) * inv_std));
    beta_sums[i] += static_cast<double>(dy[i]);
  }
  auto a = static_cast<float>(sum / static_cast<double>(width)),
       b = static_cast<float>(sum_x / static_cast<double>(width));
#pragma omp simd
  for (std::int64_t i = 0; i < width; ++i)
    dx[i] = inv_std * (dy[i] * gamma[i] - a - (x[i] - mean) * inv_std * b);
}

/// Each thread sums its rows into arrays of its own, which are added in order.
Loop backward(const Rows& r) {
  return [r](const Launch& launch) {
    int parts = r.rows * r.width < kSmallLoop ? 1 : launch.threads;
    double* work = launch.work<double>();
    for_rows(parts, parts, r.rows * r.width, [&](std::int64_t part) {
      double* sums = work + part * 2 * r.width;
      std::fill_n(sums, 2 * r.width, 0.0);
      Range rows = part_of(r.rows, part, parts);
      for (std::int64_t row = rows.begin; row < rows.end; ++row) {
        std::int64_t at = row * r.width;
        backward_row(r, launch.at(0) + at, launch.at(1) + at, launch.at(2), launch.at(3)[row],
                     launch.at(4)[row], launch.at(5) + at, sums);
      }
    });
    for (int part = 1; part < parts; ++part)
      run_range(0, 2 * r.width,
                [=, from = work + part * 2 * r.width](std::int64_t i) { work[i] += from[i]; });
    float *dgamma = launch.at(6), *dbeta = launch.at(7);
    std::int64_t width = r.width;
    run_range(0, width, [=](std::int64_t i) { dgamma[i] = static_cast<float>(work[i]); });
    run_range(0, width, [=](std::int64_t i) { dbeta[i] = static_cast<float>(work[width + i]); });
  };
}

}  // namespace

Offers offers(const LayerNorm& op, const Request& request) {
  const Shape& x = request.shape(0);
  Rows rows{x.elements() / x.back(), x.back(), op.epsilon};
  Candidate candidate{.algorithm = "loop",
                      .layouts = std::vector(request.operands.size(), Layout::plain)};
  if (request.key.phase == Phase::forward) return {offer_loop(request, candidate, forward(rows))};
  candidate.scratch = {16 * rows.width * request.context.threads};
  candidate.in_place = {{5, 0}, {5, 1}};
  return {offer_loop(request, candidate, backward(rows))};
}

}  // namespace troika
