// Losses of floating targets, from two functions of one element (ops/sample_loss.h).
#pragma once

#include "kernels/cpu/loops.h"
#include "kernels/cpu/offers.h"

namespace troika {

/// The sum over each sample's elements is stored in the scratch; then the samples are added in
/// order.
template <class Loss>
Loop sample_loss_forward(std::int64_t samples, std::int64_t per_sample, bool one_target,
                         const Loss& loss) {
  return [=](const Launch& launch) {
    const float* weight = launch.at(2);
    double* sums = launch.work<double>();
    for_rows(launch.threads, samples, 4 * per_sample, [&](std::int64_t n) {
      const float *x = launch.at(0) + n * per_sample,
                  *target = launch.at(1) + (one_target ? n : n * per_sample);
      sums[n] = one_target ? sum_range(0, per_sample,
                                       [=, t = *target](std::int64_t i) {
                                         return static_cast<double>(loss(x[i], t));
                                       })
                           : sum_range(0, per_sample, [=](std::int64_t i) {
                               return static_cast<double>(loss(x[i], target[i]));
                             });
    });
    double loss_sum = 0, weight_sum = 0;
    for (std::int64_t n = 0; n < samples; ++n) {
      // A padded sample has weight 0 and must not bring in a NaN.
      if (weight[n] != 0)
        loss_sum += static_cast<double>(weight[n]) * sums[n] / static_cast<double>(per_sample);
      weight_sum += static_cast<double>(weight[n]);
    }
    *launch.at<double>(3) = loss_sum;
    *launch.at<double>(4) = weight_sum;
  };
}

template <class Derivative>
Loop sample_loss_backward(std::int64_t samples, std::int64_t per_sample, bool one_target,
                          const Derivative& derivative) {
  return [=](const Launch& launch) {
    for_rows(launch.threads, samples, 4 * per_sample, [&](std::int64_t n) {
      const float *x = launch.at(0) + n * per_sample,
                  *target = launch.at(1) + (one_target ? n : n * per_sample);
      float *dx = launch.at(3) + n * per_sample,
            factor = launch.at(2)[n] / static_cast<float>(per_sample);
      if (factor == 0) return run_range(0, per_sample, [dx](std::int64_t i) { dx[i] = 0; });
      if (one_target)
        return run_range(0, per_sample, [=, t = *target](std::int64_t i) {
          dx[i] = factor * derivative(x[i], t);
        });
      run_range(0, per_sample,
                [=](std::int64_t i) { dx[i] = factor * derivative(x[i], target[i]); });
    });
  };
}

template <class Loss, class Derivative>
Offers sample_loss_offers(const Request& request, const Loss& loss, const Derivative& derivative) {
  const Shape &x = request.shape(0), &target = request.shape(1);
  std::int64_t samples = x[0], per_sample = x.elements() / samples;
  bool one_target = target.elements() != x.elements(),
       is_forward = request.key.phase == Phase::forward;
  Candidate candidate{.algorithm = "loop",
                      .layouts = std::vector(request.operands.size(), Layout::plain)};
  if (is_forward)
    candidate.scratch = {8 * samples};
  else
    candidate.in_place = {{3, 0}};
  return {offer_loop(request, candidate,
                     is_forward
                         ? sample_loss_forward(samples, per_sample, one_target, loss)
                         : sample_loss_backward(samples, per_sample, one_target, derivative))};
}

}  // namespace troika
