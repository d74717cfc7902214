// A row is normalised on one thread. Backward, with n = (x - mean) * inv_std and averages over the
// row: dx = inv_std * (dy * gamma - average(dy * gamma) - n * average(dy * gamma * n)).
#include <algorithm>
#include <cmath>

#include "kernels/cpu/loops.h"
#include "kernels/cpu/offers.h"

namespace troika {
namespace {

struct NormRows {
  std::int64_t rows, width;
  double epsilon;
};

Loop forward(const NormRows& r) {
  return [r](const Launch& launch) {
    const float *gamma = launch.at(1), *beta = launch.at(2);
    auto width = static_cast<double>(r.width);
    for_rows(launch.threads, r.rows, 3 * r.width, [&](std::int64_t row) {
      const float* x = launch.at(0) + row * r.width;
      float* y = launch.at(3) + row * r.width;
      double mean =
          sum_range(0, r.width, [x](std::int64_t i) { return static_cast<double>(x[i]); }) / width;
      // Two passes: the sum of squares around 0 would cancel if the mean is large.
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

/// Rows whose shares of dgamma and dbeta are added in f32 before they are added up in f64.
constexpr std::int64_t kRowsTogether = 16;

/// The sum of f and that of g over a row, in f32 by vector lanes and in f64 by blocks.
template <class F, class G>
TROIKA_VECTORIZED void sum_row(std::int64_t width, const F& f, const G& g, double* sums) {
  F first = f;
  G second = g;
  // Short enough for f32; a sum of a long row would lose digits.
  for (std::int64_t at = 0; at < width; at += 1024) {
    std::int64_t end = std::min(at + 1024, width);
    float a = 0, b = 0;
#pragma omp simd reduction(+ : a, b)
    for (std::int64_t i = at; i < end; ++i) {
      a += first(i);
      b += second(i);
    }
    sums[0] += static_cast<double>(a);
    sums[1] += static_cast<double>(b);
  }
}

/// The operands of some rows of backward.
struct BackwardRows {
  const float *x, *dy, *gamma, *mean, *inv_std;
  float* dx;
};

/// One row of dx; its shares of dgamma and dbeta are added to `shares`, two arrays of the width.
TROIKA_VECTORIZED void backward_row(std::int64_t width, const BackwardRows& rows, std::int64_t row,
                                    float* shares) {
  const float *x = rows.x + row * width, *dy = rows.dy + row * width, *gamma = rows.gamma;
  float *dx = rows.dx + row * width, *beta_shares = shares + width;
  float mean = rows.mean[row], inv_std = rows.inv_std[row];
  double sums[2] = {};
  sum_row(
      width, [=](std::int64_t i) { return dy[i] * gamma[i]; },
      [=](std::int64_t i) { return dy[i] * gamma[i] * (x[i] - mean); }, sums);
  auto per_element = 1 / static_cast<double>(width);
  auto a = static_cast<float>(sums[0] * per_element),
       b = static_cast<float>(sums[1] * per_element * inv_std);
#pragma omp simd
  for (std::int64_t i = 0; i < width; ++i) {
    // dx may be x or dy (candidate.in_place), so both are read before it is written.
    float arriving = dy[i], normalised = (x[i] - mean) * inv_std;
    shares[i] += arriving * normalised;
    beta_shares[i] += arriving;
    dx[i] = inv_std * (arriving * gamma[i] - a - normalised * b);
  }
}

/// `sums`: two arrays of the width in f64, then two in f32.
void backward_rows(std::int64_t width, const BackwardRows& rows, Range range, double* sums) {
  auto* shares = reinterpret_cast<float*>(sums + 2 * width);
  std::fill_n(sums, 2 * width, 0.0);
  for (std::int64_t row = range.begin; row < range.end;) {
    std::fill_n(shares, 2 * width, 0.0f);
    std::int64_t stop = std::min(row + kRowsTogether, range.end);
    for (; row < stop; ++row) backward_row(width, rows, row, shares);
    run_range(0, 2 * width, [=](std::int64_t i) { sums[i] += static_cast<double>(shares[i]); });
  }
}

/// Each thread sums its rows into arrays of its own, which are added in order.
Loop backward(const NormRows& r) {
  return [r](const Launch& launch) {
    int parts = r.rows * r.width < kSmallLoop ? 1 : launch.threads;
    double* work = launch.work<double>();
    // Doubles per thread: two arrays of doubles and two of floats (backward_rows).
    std::int64_t width = r.width, stride = 3 * width;
    BackwardRows rows{launch.at(0), launch.at(1), launch.at(2),
                      launch.at(3), launch.at(4), launch.at(5)};
    for_rows(parts, parts, r.rows * r.width, [&](std::int64_t part) {
      backward_rows(width, rows, part_of(r.rows, part, parts), work + part * stride);
    });
    for (int part = 1; part < parts; ++part)
      run_range(0, 2 * width,
                [=, from = work + part * stride](std::int64_t i) { work[i] += from[i]; });
    float *dgamma = launch.at(6), *dbeta = launch.at(7);
    run_range(0, width, [=](std::int64_t i) { dgamma[i] = static_cast<float>(work[i]); });
    run_range(0, width, [=](std::int64_t i) { dbeta[i] = static_cast<float>(work[width + i]); });
  };
}

}  // namespace

Offers offers(const LayerNorm& op, const Request& request) {
  const Shape& x = request.shape(0);
  NormRows rows{x.elements() / x.back(), x.back(), op.epsilon};
  Candidate candidate{.algorithm = "loop",
                      .layouts = std::vector(request.operands.size(), Layout::plain)};
  if (request.key.phase == Phase::forward) return {offer_loop(request, candidate, forward(rows))};
  candidate.scratch = {24 * rows.width * request.context.threads};
  candidate.in_place = {{5, 0}, {5, 1}};
  return {offer_loop(request, candidate, backward(rows))};
}

}  // namespace troika
