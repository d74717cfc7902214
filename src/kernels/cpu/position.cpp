#include "kernels/cpu/loops.h"
#include "kernels/cpu/offers.h"

namespace troika {
namespace {

/// Shares are columns of [samples, period], so that every sum over samples is made by one thread,
/// in order.
Loop add_positions(std::int64_t samples, std::int64_t period) {
  return [=](const Launch& launch) {
    const float *x = launch.at(0), *weight = launch.at(1);
    float* y = launch.at(2);
    int threads = samples * period < kSmallLoop ? 1 : launch.threads;
    for_shares(threads, period, 64, [=](std::int64_t begin, std::int64_t end) {
      for (std::int64_t at = 0; at < samples * period; at += period)
        run_range(begin, end, [=](std::int64_t i) { y[at + i] = x[at + i] + weight[i]; });
    });
  };
}

Loop sum_samples(std::int64_t samples, std::int64_t period) {
  return [=](const Launch& launch) {
    const float* dy = launch.at(0);
    float* dweight = launch.at(1);
    int threads = samples * period < kSmallLoop ? 1 : launch.threads;
    for_shares(threads, period, 64, [=](std::int64_t begin, std::int64_t end) {
      run_range(begin, end, [=](std::int64_t i) { dweight[i] = dy[i]; });
      for (std::int64_t at = period; at < samples * period; at += period)
        run_range(begin, end, [=](std::int64_t i) { dweight[i] += dy[at + i]; });
    });
  };
}

}  // namespace

Offers offers(const Position&, const Request& request) {
  const Shape& x = request.shape(0);
  std::int64_t samples = x[0], period = x[1] * x[2];
  Candidate candidate{.algorithm = "loop",
                      .layouts = std::vector(request.operands.size(), Layout::plain)};
  if (request.key.phase != Phase::forward)
    return {offer_loop(request, candidate, sum_samples(samples, period))};
  candidate.in_place = {{2, 0}};
  return {offer_loop(request, candidate, add_positions(samples, period))};
}

}  // namespace troika
